// The emails that were sent: a list, and the one that is read.

import { get } from "./api.js";
import { badge, byId, clock, day, element, toast } from "./dom.js";
import { sideEntry } from "./side.js";

export class Mails {
  constructor(app) {
    this.app = app;
    this.mails = [];
    this.count = null; // of all that were ever sent; null until the first answer
    this.seen = 0;
    this.chosen = null;
    byId("mail-back").addEventListener("click", () => this.back());
    byId("mail-as-html").addEventListener("click", () => this.showAs("html"));
    byId("mail-as-text").addEventListener("click", () => this.showAs("text"));
  }

  get shown() {
    return this.app.side.shows("mails");
  }

  async load() {
    let answer;
    try { answer = await get("mails", {}); } catch (error) { toast(error.message); return; }
    if (this.count !== null && answer.count < this.count) return; // an older answer came late
    const fresh = this.count === null ? 0 : answer.count - this.count;
    if (this.count === null) this.seen = answer.count;
    this.count = answer.count;
    this.mails = answer.mails;
    byId("mail-address").textContent = answer.address;
    byId("mail-entry").hidden = answer.address === null;
    byId("tab-mails").hidden = answer.address === null;
    if (fresh && !this.shown) toast(`Email to ${this.mails[0].to.join(", ")}: ${this.mails[0].subject}`);
    this.changed();
  }

  changed() {
    if (this.shown) this.seen = this.count ?? 0;
    if (this.shown && this.app.side.beside) document.title = "Emails – Sandbox";
    this.showEntry();
    this.showList();
  }

  back() {
    if (this.chosen === null) this.app.side.leave();
    else this.choose(null);
  }

  showEntry() {
    const unread = (this.count ?? 0) - this.seen;
    const last = this.mails[0];
    byId("mail-entry").replaceChildren(sideEntry({
      title: "Emails", drawing: "mail", words: last?.subject ?? "None sent yet", current: this.shown,
      open: () => this.app.side.open("mails"), time: last ? clock(last.date) : "", unread,
    }));
    byId("tab-mails").replaceChildren("Emails", badge(unread) || "");
  }

  showList() {
    const kept = this.count > this.mails.length ? `, the last ${this.mails.length} are shown` : "";
    byId("mail-count").textContent = `${this.count ?? 0} sent${kept}`;
    byId("mail-none").hidden = this.mails.length > 0;
    byId("mail-list").hidden = this.chosen !== null || !this.mails.length;
    byId("mail-back").hidden = this.chosen === null && !this.app.side.beside;
    byId("mail-list").replaceChildren(...this.mails.map((mail) => this.listItem(mail)));
  }

  listItem(mail) {
    const button = element("button", { type: "button", className: "mail-item" },
      element("span", { className: "mail-to" }, mail.to.join(", ")),
      element("time", { className: "mail-time", dateTime: new Date(mail.date * 1000).toISOString() }, clock(mail.date)),
      element("strong", { dir: "auto" }, mail.subject));
    button.addEventListener("click", () => this.choose(mail));
    return element("li", {}, button);
  }

  choose(mail) {
    this.chosen = mail;
    byId("mail").hidden = mail === null;
    this.showList();
    byId("mail-title").focus();
    if (mail === null) return;
    byId("mail-subject").textContent = mail.subject;
    byId("mail-way").textContent = `${mail.from} to ${mail.to.join(", ")}, ${day(mail.date)} ${clock(mail.date)}`;
    byId("mail-text").textContent = mail.text;
    const frame = byId("mail-html").cloneNode(); // a fresh one: a new address in the old would be a step of the history
    if (mail.has_html) frame.src = `/chat/mails/${mail.id}`;
    else frame.removeAttribute("src");
    byId("mail-html").replaceWith(frame);
    byId("mail-as-html").hidden = !mail.has_html;
    this.showAs(mail.has_html ? "html" : "text");
  }

  showAs(kind) {
    for (const each of ["html", "text"]) {
      byId(`mail-${each}`).hidden = each !== kind;
      byId(`mail-as-${each}`).setAttribute("aria-pressed", String(each === kind));
    }
  }
}
