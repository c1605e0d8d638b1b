// The composer: text, photos, the command menu, inline mode, reply keyboards.

import { post, postPhoto } from "./api.js";
import { byId, element, toast } from "./dom.js";

const INLINE_DELAY = 250;

export class Composer {
  constructor(app) {
    this.app = app;
    this.asked = 0;
    this.marked = -1;
    this.text = byId("text");
    this.box = byId("suggestions");
    byId("composer").addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => this.key(event));
    byId("menu").addEventListener("click", () => this.toggleMenu());
    byId("attach").addEventListener("click", () => byId("photo").click());
    byId("photo").addEventListener("change", () => this.sendPhoto());
  }

  fill(text) {
    this.text.value = text;
    this.text.focus();
    this.text.setSelectionRange(text.length, text.length);
    this.changed();
  }

  show(chat) {
    this.hide();
    byId("menu").hidden = !chat.commands.length;
    this.replyKeyboard(chat.keyboard);
  }

  async submit() {
    if (this.marked >= 0) { this.box.children[this.marked].click(); return; }
    const text = this.text.value.trim();
    if (!text || this.inlineQuery() !== null) return;
    this.text.value = "";
    this.changed();
    await this.send(text);
  }

  async send(text) {
    try {
      await post("send", { ...this.app.place(), text });
    } catch (error) {
      this.text.value ||= text;
      toast(error.message);
    }
  }

  async sendPhoto() {
    const [file] = byId("photo").files;
    byId("photo").value = "";
    if (!file) return;
    try {
      await postPhoto({ ...this.app.place(), caption: this.text.value.trim() }, file);
      this.fill("");
    } catch (error) {
      toast(error.message);
    }
  }

  changed() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight, 140)}px`;
    const query = this.inlineQuery();
    clearTimeout(this.timer);
    this.asked += 1;
    if (query !== null) {
      this.timer = setTimeout(() => this.ask(query, ""), INLINE_DELAY);
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
        this.text.value = "";
        this.changed();
        this.send(name);
      });
      node.dataset.fill = name;
      return node;
    }));
  }

  inlineQuery() {
    const match = this.text.value.match(/^@(\w+)\s([\s\S]*)$/);
    const ours = match && match[1].toLowerCase() === this.app.bot.username.toLowerCase();
    return ours ? match[2] : null;
  }

  async ask(query, offset) {
    const mine = this.asked;
    try {
      const answer = await post("inline", { ...this.app.place(), query, offset });
      if (mine === this.asked) this.offerResults(answer, query, offset);
    } catch (error) {
      toast(error.message);
    }
  }

  offerResults(answer, query, offset) {
    const nodes = answer.results.map((result) => this.resultOption(answer, result));
    if (answer.button) nodes.unshift(this.startOption(answer.button));
    if (!nodes.length && !offset) nodes.push(element("p", { className: "nothing", role: "option" }, answer.answered ? "No results" : "The bot did not answer"));
    if (answer.next_offset) nodes.push(this.moreOption(query, answer.next_offset));
    if (!offset) this.box.replaceChildren();
    this.offer([...this.box.querySelectorAll("[data-result]"), ...nodes]);
  }

  resultOption(answer, result) {
    const title = result.title || result.caption || "Photo";
    const words = element("span", { className: "result-words" }, element("strong", {}, title),
      element("span", {}, result.description || ""));
    const node = this.option([thumbnail(result, title), words], () => this.choose(answer.query_id, result.id));
    node.dataset.result = result.id;
    return node;
  }

  startOption(button) {
    return this.option([element("strong", {}, button.text)], () => {
      this.fill("");
      this.app.startBot(button.start_parameter || "");
    });
  }

  moreOption(query, offset) {
    return this.option([element("span", {}, "More results")], () => this.ask(query, offset));
  }

  async choose(queryId, resultId) {
    this.text.value = "";
    this.changed();
    try {
      await post("choose", { ...this.app.place(), query_id: queryId, result_id: resultId });
    } catch (error) {
      toast(error.message);
    }
  }

  option(children, choose) {
    const node = element("button", { type: "button", className: "option", role: "option", tabIndex: -1, "aria-selected": "false" }, ...children);
    node.addEventListener("click", choose);
    return node;
  }

  offer(nodes) {
    this.marked = -1;
    this.box.replaceChildren(...nodes);
    this.box.hidden = !nodes.length;
    byId("menu").setAttribute("aria-expanded", String(nodes.length > 0));
  }

  hide() {
    this.offer([]);
  }

  replyKeyboard(markup) {
    const box = byId("reply-keyboard");
    box.hidden = !markup;
    if (!markup) return;
    box.replaceChildren(...markup.keyboard.map((row) => element("div", { className: "row" }, ...row.map((one) => {
      const node = element("button", { type: "button", className: "key" }, one.text);
      node.addEventListener("click", () => {
        if (markup.one_time_keyboard) box.hidden = true;
        this.send(one.text);
      });
      return node;
    }))));
    this.text.placeholder = markup.input_field_placeholder || "Message";
  }
}

function thumbnail(result, title) {
  const cached = result.photo_file_id && `/chat/files/${encodeURIComponent(result.photo_file_id)}`;
  const address = cached || ownAddress(result.thumbnail_url);
  const letter = element("span", { className: "thumbnail", "aria-hidden": "true" }, [...title][0] || "•");
  if (!address) return letter;
  const image = element("img", { className: "thumbnail", src: address, alt: "" });
  image.addEventListener("error", () => image.replaceWith(letter));
  return image;
}

// The page asks nobody but its own server, whatever a bot names.
function ownAddress(address) {
  try {
    const parsed = new URL(address);
    return parsed.origin === location.origin ? parsed.href : "";
  } catch {
    return "";
  }
}
