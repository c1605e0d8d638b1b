"""QR codes and lettering."""
