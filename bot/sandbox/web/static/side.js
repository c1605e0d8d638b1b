// What stands beside the chat: the payer's phone, emails, pay pages. One pane at a time where
// there is no room beside it.

import { badge, byId, clock, dress, element, icon } from "./dom.js";
import { follow, payPages } from "./links.js";
import { chosenOnPhone, embedded } from "./viewer.js";

const PANES = { phone: "phone-pane", mails: "mail-pane", links: "links-pane" };
const WIDE = matchMedia("(min-width: 1120px)");

export class Side {
  constructor(app) {
    this.app = app;
    this.chosen = "phone";
    this.beside = false; // on a narrow window: shown in place of the chat
    dress({ "mail-back": "back", "links-back": "back" });
    for (const name of Object.keys(PANES)) byId(`tab-${name}`).addEventListener("click", () => this.open(name));
    byId("side").querySelector(".tabs").addEventListener("keydown", (event) => this.key(event));
    byId("links-back").addEventListener("click", () => this.leave());
    WIDE.addEventListener("change", () => this.show());
    this.show();
  }

  get wide() {
    return WIDE.matches && !embedded;
  }

  shows(name) {
    return (this.wide || this.beside) && this.chosen === name;
  }

  open(name) {
    this.chosen = name;
    this.beside = !this.wide;
    this.show();
    if (this.beside) byId(name === "mails" ? "mail-title" : "links-title").focus();
    this.app.mails.changed();
    this.app.showList();
  }

  leave() {
    this.beside = false;
    this.show();
    this.app.showList();
  }

  key(event) {
    const names = Object.keys(PANES);
    const step = { ArrowRight: 1, ArrowLeft: names.length - 1 }[event.key];
    if (!step) return;
    const next = names[(names.indexOf(this.chosen) + step) % names.length];
    this.open(next);
    byId(`tab-${next}`).focus();
  }

  show() {
    if (this.wide) this.beside = false;
    byId("app").classList.toggle("beside", this.beside);
    for (const [name, pane] of Object.entries(PANES)) {
      byId(pane).hidden = name !== this.chosen;
      byId(`tab-${name}`).setAttribute("aria-selected", String(name === this.chosen));
      byId(`tab-${name}`).tabIndex = name === this.chosen ? 0 : -1;
    }
    if (this.wide && this.app.user) this.callPayer();
  }

  // A second client in a frame: whoever comes after the person who is played here.
  callPayer() {
    if (byId("phone").firstChild) return;
    const other = this.app.people.find((one) => one.id !== this.app.user);
    if (!other) return;
    const phone = element("iframe", { title: "The payer’s phone", src: `/chat?user=${chosenOnPhone() || other.id}` });
    phone.addEventListener("load", () => { phone.dataset.loaded = "true"; });
    byId("phone").append(phone);
  }

  // Show a page on the payer's phone, where there is one; whether there is.
  showOnPhone(address) {
    const phone = this.wide && byId("phone").firstChild;
    if (!phone) return false;
    this.open("phone");
    const show = () => phone.contentWindow.postMessage({ page: address }, location.origin);
    if (phone.dataset.loaded) show();
    else phone.addEventListener("load", show, { once: true });
    phone.focus();
    return true;
  }

  // The newest first; of one second, the one found last. A page once listed stays, though its message
  // may turn into a menu.
  showLinks() {
    if (this.reader !== this.app.user) this.pages = new Map();
    this.reader = this.app.user;
    for (const page of payPages(this.app.chats.values())) this.pages.set(page.url, page);
    const pages = [...this.pages.values()].reverse().sort((one, other) => other.date - one.date);
    byId("links-none").hidden = pages.length > 0;
    byId("links-entry").hidden = !pages.length;
    byId("links-entry").replaceChildren(sideEntry({
      title: "Pay pages", drawing: "card", words: pages[0]?.title || "", current: this.shows("links"), open: () => this.open("links"),
    }));
    byId("links-list").replaceChildren(...pages.map((page) => {
      const anchor = element("a", { className: "link-item", href: page.url, target: "_blank", rel: "noopener noreferrer" },
        icon("card"), element("strong", { dir: "auto" }, page.title), element("span", {}, `${new URL(page.url).pathname} · ${clock(page.date)}`));
      anchor.addEventListener("click", (event) => follow(event, page.url, this.app));
      return element("li", {}, anchor);
    }));
  }
}

export function sideEntry({ title, drawing, words, current, open, time = "", unread = 0 }) {
  const button = element("button", { type: "button", className: "chat-item", "aria-current": String(current) },
    element("span", { className: "avatar plain", "aria-hidden": "true" }, icon(drawing)),
    element("span", { className: "chat-words" }, element("strong", {}, title), element("span", { dir: "auto" }, words)),
    element("span", { className: "chat-side" }, time, badge(unread)));
  button.addEventListener("click", open);
  return button;
}
