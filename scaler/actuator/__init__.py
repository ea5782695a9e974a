"""Do what `core/hold` plans: one leader, one write after another, each told and counted."""
