// The browser inside a client: a sheet over its chats that shows pages of this server.

import { byId, dress, element } from "./dom.js";

const AWAY = "This page leads to another site. The sandbox doesn’t open other sites; a phone would.";

export class InAppBrowser {
  constructor(app) {
    this.app = app;
    this.sheet = byId("in-app");
    dress({ "in-app-close": "close" });
    this.sheet.addEventListener("close", () => byId("in-app-page").replaceChildren());
    addEventListener("message", (event) => {
      if (event.source === parent && event.origin === location.origin && event.data.page) this.open(event.data.page);
    });
  }

  open(address) {
    const frame = element("iframe", { title: "Page", src: address });
    frame.addEventListener("load", () => this.arrived(frame));
    this.name("", new URL(address));
    byId("in-app-page").replaceChildren(frame);
    if (!this.sheet.open) this.sheet.showModal();
  }

  // Only a page of this server lets itself be read; of another one there is nothing to show.
  arrived(frame) {
    if (!frame.isConnected) return;
    const page = frame.contentDocument;
    if (page) {
      this.name(page.title, new URL(page.location.href));
      page.addEventListener("click", (event) => this.clicked(event));
      frame.focus();
    } else {
      byId("in-app-page").replaceChildren(element("p", { className: "none" }, AWAY));
    }
  }

  // A link to the bot leads back to the chats, as on a phone.
  clicked(event) {
    const address = event.target.closest("a[href]")?.href;
    if (!address || !this.app.isInternal(address)) return;
    event.preventDefault();
    this.sheet.close();
    this.app.link(address);
  }

  name(title, { host, pathname }) {
    byId("in-app-title").textContent = title || host;
    byId("in-app-address").textContent = host + pathname;
  }
}
