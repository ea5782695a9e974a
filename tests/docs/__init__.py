"""What the documents show is tried: their YAML, their commands, their links."""
