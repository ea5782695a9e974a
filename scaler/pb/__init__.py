"""Generated from protos/externalscaler.proto; never edited by hand."""
