"""What users write: checkpoints, subsets, run options; read from TOML, checked, frozen."""
