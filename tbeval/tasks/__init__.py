"""From ids to task directories, and the verifier that reads test reports."""
