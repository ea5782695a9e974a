"""The commands: each adds its parser and runs; what they decide, the rooms below decide."""
