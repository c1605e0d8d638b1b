// Inline mode: what the bot offers for words typed after its name, posted by a click.

import { fileAddress, post } from "./api.js";
import { element, toast } from "./dom.js";
import { ownAddress } from "./links.js";

export class Inline {
  constructor(app, composer) {
    this.app = app;
    this.composer = composer;
    this.asked = 0;
  }

  // Answers that are still under way come too late from now on.
  forget() {
    this.asked += 1;
  }

  async ask(query, offset) {
    const mine = this.asked;
    if (!offset) this.composer.offer([element("p", { className: "nothing waiting", role: "option", "aria-selected": "false" }, "Asking the bot…")]);
    try {
      const answer = await post("inline", { ...this.app.place(), query, offset });
      if (mine === this.asked) this.offer(answer, query, offset);
    } catch (error) {
      toast(error.message);
    }
  }

  offer(answer, query, offset) {
    const box = this.composer.box;
    const nodes = answer.results.map((result) => this.result(answer, result));
    if (answer.button && !offset) nodes.unshift(this.start(answer.button));
    if (!nodes.length && !offset) nodes.push(element("p", { className: "nothing", role: "option", "aria-selected": "false" }, answer.answered ? "No results" : "The bot didn’t answer"));
    if (answer.next_offset) nodes.push(this.more(query, answer.next_offset));
    const before = offset ? [...box.querySelectorAll("[data-kept]")] : [];
    const scrolled = box.scrollTop;
    this.composer.offer([...before, ...nodes]);
    box.scrollTop = offset ? scrolled : 0;
  }

  result(answer, result) {
    const title = result.title || result.caption || "Photo";
    const words = element("span", { className: "result-words" }, element("strong", { dir: "auto" }, title),
      element("span", { dir: "auto" }, result.description || ""));
    const node = this.composer.option([thumbnail(result, title), words], () => this.choose(answer.query_id, result.id));
    node.dataset.kept = "";
    return node;
  }

  start(button) {
    const node = this.composer.option([element("strong", {}, button.text)], () => {
      this.composer.clear();
      this.app.startBot(button.start_parameter || "");
    });
    node.classList.add("leading");
    node.dataset.kept = "";
    return node;
  }

  more(query, offset) {
    const node = this.composer.option([element("span", {}, "More results")], () => this.ask(query, offset));
    node.classList.add("leading");
    return node;
  }

  async choose(queryId, resultId) {
    this.composer.clear();
    this.composer.text.focus();
    await this.app.act("choose", { ...this.app.place(), query_id: queryId, result_id: resultId });
  }
}

function thumbnail(result, title) {
  const cached = result.photo_file_id && fileAddress(result.photo_file_id);
  const address = cached || ownAddress(result.thumbnail_url);
  const letter = element("span", { className: "thumbnail", "aria-hidden": "true" }, [...title.trim()][0] || "•");
  if (!address) return letter;
  const image = element("img", { className: "thumbnail", src: address, alt: "" });
  image.addEventListener("error", () => image.replaceWith(letter));
  return image;
}
