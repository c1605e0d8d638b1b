// The composer: text, the command menu; what is typed after the bot's name.

import { post } from "./api.js";
import { Attachments } from "./attach.js";
import { byId, dress, element, toast } from "./dom.js";
import { Inline } from "./inline.js";

const INLINE_DELAY = 250;
const TALLEST = 140;

export class Composer {
  constructor(app) {
    this.app = app;
    this.drafts = new Map();
    this.shown = null; // whose draft stands in the field
    this.marked = -1;
    this.text = byId("text");
    this.box = byId("suggestions");
    this.inline = new Inline(app, this);
    this.attachments = new Attachments(app, this);
    dress({ attach: "attach", send: "send", menu: "menu" });
    byId("composer").addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => this.key(event));
    byId("menu").addEventListener("click", () => this.toggleMenu());
  }

  // Which draft is whose: a person's in a chat.
  get draft() {
    return `${this.app.user} ${this.app.chat.id}`;
  }

  fill(text) {
    this.text.value = text;
    this.text.focus();
    this.text.setSelectionRange(text.length, text.length);
    this.changed();
  }

  show(chat) {
    byId("menu").hidden = !chat.commands.length;
    const text = this.drafts.get(this.draft) || "";
    if (this.shown === this.draft && this.text.value === text) return;
    this.shown = this.draft;
    this.text.value = text;
    this.changed();
  }

  async submit() {
    if (this.marked >= 0) { this.box.children[this.marked].click(); return; }
    const text = this.text.value.trim();
    if (!text || this.query() !== null) return;
    this.clear();
    await this.send(text);
  }

  clear() {
    this.text.value = "";
    this.changed();
  }

  async send(text) {
    const { draft } = this;
    try {
      await post("send", { ...this.app.place(), text });
    } catch (error) {
      if (!this.drafts.get(draft)) this.put(draft, text);
      toast(error.message);
    }
  }

  // Write a draft, also one that is not open any more.
  put(draft, text) {
    this.drafts.set(draft, text);
    if (draft !== this.draft || this.text.value === text) return;
    this.text.value = text;
    this.changed();
  }

  changed() {
    this.drafts.set(this.draft, this.text.value);
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight, TALLEST)}px`;
    const query = this.query();
    clearTimeout(this.timer);
    this.inline.forget();
    if (query !== null) {
      this.timer = setTimeout(() => this.inline.ask(query, ""), INLINE_DELAY);
    } else if (/^\/\w*$/.test(this.text.value)) {
      this.showCommands(this.text.value.slice(1).toLowerCase());
    } else {
      this.hide();
    }
  }

  key(event) {
    const options = this.box.hidden ? [] : [...this.box.children];
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.submit();
    } else if (event.key === "Escape") {
      this.hide();
    } else if (options.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : options.length - 1;
      this.mark((Math.max(this.marked, event.key === "ArrowDown" ? -1 : 0) + step) % options.length);
    } else if (options.length && event.key === "Tab" && this.text.value.startsWith("/")) {
      event.preventDefault();
      this.fill(`${options[Math.max(this.marked, 0)].dataset.fill} `);
    }
  }

  mark(index) {
    this.marked = index;
    [...this.box.children].forEach((node, at) => node.setAttribute("aria-selected", String(at === index)));
    this.box.children[index]?.scrollIntoView({ block: "nearest" });
    if (this.box.children[index]) this.text.setAttribute("aria-activedescendant", this.box.children[index].id);
    else this.text.removeAttribute("aria-activedescendant");
  }

  toggleMenu() {
    if (this.box.hidden) this.showCommands("");
    else this.hide();
    this.text.focus();
  }

  showCommands(prefix) {
    const commands = this.app.chat.commands.filter((one) => one.command.startsWith(prefix));
    this.offer(commands.map((one) => {
      const name = `/${one.command}`;
      const node = this.option([element("strong", {}, name), element("span", {}, one.description)], () => {
        this.clear();
        this.send(name);
      });
      node.dataset.fill = name;
      return node;
    }));
  }

  // What is typed after the bot's name, null where its name is not typed.
  query() {
    const match = this.text.value.match(/^@(\w+)\s([\s\S]*)$/);
    const ours = match && match[1].toLowerCase() === this.app.bot.username.toLowerCase();
    return ours ? match[2] : null;
  }

  option(children, choose) {
    const node = element("button", { type: "button", className: "option", role: "option", tabIndex: -1, "aria-selected": "false" }, ...children);
    node.addEventListener("click", choose);
    return node;
  }

  offer(nodes) {
    nodes.forEach((node, index) => { node.id = `option-${index}`; });
    this.box.replaceChildren(...nodes);
    this.box.hidden = !nodes.length;
    this.mark(-1);
    byId("menu").setAttribute("aria-expanded", String(nodes.length > 0));
    const options = this.box.querySelectorAll("button").length;
    byId("said").textContent = options ? `${options} suggestions` : "";
  }

  hide() {
    this.offer([]);
  }
}
