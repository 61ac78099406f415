"""The command `data-skip`: what the doors offer, from a shell."""
