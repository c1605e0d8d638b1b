// Who there is to play and where they talk: new people, new groups, who is in a chat.

import { avatar, byId, dress, element, toast } from "./dom.js";
import { remember } from "./viewer.js";

export class People {
  constructor(app) {
    this.app = app;
    dress({ "new-person": "person", "new-group": "group", more: "more" });
    byId("viewer").addEventListener("change", (event) => {
      remember(event.target.value);
      app.play(event.target.value);
    });
    byId("new-person").addEventListener("click", () => this.askPerson());
    byId("new-group").addEventListener("click", () => this.askGroup());
    byId("more").addEventListener("click", () => this.showInfo());
    onMake("person-form", () => this.addPerson());
    onMake("group-form", () => this.addGroup());
  }

  showViewers() {
    const { people, user } = this.app;
    byId("viewer").replaceChildren(...people.map((one) => element("option", { value: one.id, selected: one.id === user }, one.name)));
  }

  askPerson() {
    byId("person-form").reset();
    byId("person-dialog").showModal();
  }

  async addPerson() {
    const { user } = this.app;
    const added = await this.app.act("people", {
      first_name: byId("person-first").value,
      last_name: byId("person-last").value.trim(),
      language_code: byId("person-language").value || null,
    });
    if (!added) return;
    const dialog = await this.app.act("dialog", { user_id: user, with: added.user_id });
    if (dialog) await this.app.visit(dialog.chat_id, user);
    toast(`${byId("person-first").value.trim()} can be played from now on`);
  }

  askGroup() {
    byId("group-form").reset();
    const others = this.app.people.filter((one) => one.id !== this.app.user);
    byId("group-members").replaceChildren(...others.map((one) =>
      element("label", { className: "check" }, element("input", { type: "checkbox", value: one.id }), " ", one.name)));
    byId("group-dialog").showModal();
  }

  async addGroup() {
    const members = [...byId("group-members").querySelectorAll("input:checked")].map((box) => Number(box.value));
    const { user } = this.app;
    const made = await this.app.act("groups", {
      user_id: user, title: byId("group-name").value, members, with_bot: byId("group-bot").checked,
    });
    if (made) await this.app.visit(made.chat_id, user);
  }

  showInfo() {
    const { chat, bot } = this.app;
    const inside = chat.kind === "private" || (chat.kind !== "dialog" && chat.bot_status === "member");
    const names = inside ? [...chat.members, `${bot.name} (bot)`] : chat.members;
    byId("info-title").textContent = chat.title;
    byId("info-about").textContent = chat.kind === "private" ? `@${bot.username}` : "";
    byId("info-members").replaceChildren(...names.map((name) => element("li", {}, avatar(name), this.member(name))));
    byId("info-acts").replaceChildren(...this.acts(chat).map(([words, name, body]) => {
      const button = element("button", { type: "button", className: "text-button" }, words);
      button.addEventListener("click", () => {
        byId("info").close();
        this.app.act(name, { user_id: this.app.user, ...body });
      });
      return button;
    }));
    byId("info").showModal();
  }

  // A name that opens the chat with its bearer, where that is somebody else.
  member(name) {
    const found = this.app.people.find((one) => one.name === name && one.id !== this.app.user);
    if (!found) return element("span", {}, name);
    const button = element("button", { type: "button", className: "inline-link" }, name);
    button.addEventListener("click", async () => {
      byId("info").close();
      const { user } = this.app;
      const dialog = await this.app.act("dialog", { user_id: user, with: found.id });
      if (dialog) await this.app.visit(dialog.chat_id, user);
    });
    return button;
  }

  acts(chat) {
    if (chat.kind === "private") {
      if (chat.bot_status === "member") return [["Block the bot", "block", {}]];
      return chat.bot_status === "kicked" ? [["Unblock the bot", "unblock", {}]] : [];
    }
    if (chat.kind === "dialog") return [];
    const bot = chat.bot_status === "member" ? ["Remove the bot", "remove-bot"] : ["Add the bot", "add-bot"];
    return [[...bot, { chat_id: chat.id }]];
  }
}

function onMake(form, make) {
  byId(form).addEventListener("submit", (event) => {
    if (event.submitter?.value === "cancel") return;
    make();
  });
}
