"""Jobs about payments at the service: claims confirmed or rejected, and sellers' marks."""
