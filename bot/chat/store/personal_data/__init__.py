"""SQL of what operators' commands take out: personal data to erase, and exports."""
