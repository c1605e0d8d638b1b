// A picture, as large as the window lets it be.

import { byId, dress } from "./dom.js";

export function prepareLightbox() {
  dress({ "lightbox-close": "close", "lightbox-save": "save" });
  byId("lightbox").addEventListener("click", (event) => {
    if (!event.target.closest("img, a, button, figcaption")) byId("lightbox").close();
  });
}

export function showPicture(size, address, caption) {
  const image = byId("lightbox-image");
  image.src = address;
  image.alt = caption || "Photo";
  image.width = size.width;
  image.height = size.height;
  byId("lightbox-caption").textContent = caption;
  byId("lightbox-save").href = address;
  byId("lightbox-save").download = "picture";
  byId("lightbox").showModal();
}
