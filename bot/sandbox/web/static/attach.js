// Pictures and files to send: chosen, pasted or dropped; looked at once more before they go.

import { postFile } from "./api.js";
import { byId, toast } from "./dom.js";

const PICTURES = /^image\/(png|jpeg|webp|gif)$/;
const PREVIEW = 320;

export class Attachments {
  constructor(app, composer) {
    this.app = app;
    this.composer = composer;
    this.file = null;
    byId("attach").addEventListener("click", () => byId("file").click());
    byId("file").addEventListener("change", () => this.chosen());
    byId("text").addEventListener("paste", (event) => this.pasted(event));
    byId("attachment-form").addEventListener("submit", (event) => {
      if (event.submitter?.value === "send") this.send();
    });
    byId("attachment-caption").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return; // else the first button of the form would be taken: Cancel
      event.preventDefault();
      byId("attachment").close();
      this.send();
    });
    this.watchDrops(byId("chat-pane"));
  }

  chosen() {
    const [file] = byId("file").files;
    if (file) this.show(file);
    byId("file").value = "";
  }

  pasted(event) {
    const [file] = event.clipboardData.files;
    if (!file) return;
    event.preventDefault();
    this.show(file);
  }

  watchDrops(pane) {
    pane.addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes("Files") || byId("composer").hidden) return;
      event.preventDefault();
      byId("drop-hint").hidden = false;
    });
    pane.addEventListener("dragleave", (event) => {
      if (!pane.contains(event.relatedTarget)) byId("drop-hint").hidden = true;
    });
    pane.addEventListener("drop", (event) => {
      byId("drop-hint").hidden = true;
      const [file] = event.dataTransfer.files;
      if (!file || byId("composer").hidden) return;
      event.preventDefault();
      this.show(file);
    });
  }

  async show(file) {
    this.file = file;
    const drawn = PICTURES.test(file.type) && await draw(file);
    byId("attachment-preview").hidden = !drawn;
    byId("attachment-kind").hidden = !drawn;
    byId("attachment-file").checked = !drawn;
    byId("attachment-title").textContent = drawn ? "Send a picture" : "Send a file";
    byId("attachment-name").textContent = `${file.name || "picture"} · ${Math.max(1, Math.round(file.size / 1024))} KB`;
    const words = this.composer.query() === null ? this.composer.text.value.trim() : "";
    byId("attachment-caption").value = words;
    byId("attachment").showModal();
    byId("attachment-caption").focus();
  }

  async send() {
    const kind = byId("attachment-file").checked ? "document" : "photo";
    const caption = byId("attachment-caption").value.trim();
    const { draft } = this.composer;
    try {
      await postFile(kind, { ...this.app.place(), caption }, this.file);
      this.composer.put(draft, "");
    } catch (error) {
      toast(error.message);
    }
  }
}

// On a canvas: an address of the file's own would be foreign to the page's policy.
async function draw(file) {
  let picture;
  try { picture = await createImageBitmap(file); } catch { return false; }
  const ratio = Math.min(1, PREVIEW / Math.max(picture.width, picture.height));
  const canvas = byId("attachment-preview");
  canvas.width = Math.max(1, Math.round(picture.width * ratio));
  canvas.height = Math.max(1, Math.round(picture.height * ratio));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return true;
}
