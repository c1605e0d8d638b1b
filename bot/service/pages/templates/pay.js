// Keeps an open page up to date: asks for the parts that change, counts down, goes on when it is over;
// shows times in the payer's zone and the sum of what is chosen. The page is complete without it.
(() => {
  "use strict";

  const GROWTH = 1.25; // of the time between two looks, while nothing changes
  const JITTER = 0.2; // so that many pages that were opened at once don't ask at once
  const LONGEST = 60000; // ms between two looks, whatever goes wrong
  const PATIENCE = 10000; // ms that an answer may take
  const SECOND = 1000;
  const MINUTE = 60 * SECOND;
  const HOUR = 60 * MINUTE;
  const TALL = 1.1; // height of a picture, in widths, from which on it is shown whole
  const DAYS_FROM = 48 * HOUR; // nearer times are counted in hours, as the chat does

  const live = document.getElementById("live");
  const page = document.documentElement.lang;
  const language = navigator.languages.find((tag) => tag.split("-")[0] === page) ?? page;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // The page once more as a fresh GET, also where it answered a form.
  const again = () => location.replace(location.pathname + location.search);
  const spread = (wait) => wait * (1 + JITTER * Math.random());

  // ---- the time that is left, by the server's clock

  let ahead = -Infinity; // ms that the server's clock is ahead of performance.now()
  let ticking;
  const now = () => performance.now() + ahead;
  const texts = document.querySelector("main").dataset;
  const timer = () => live.querySelector("[role=timer]");
  const left = () => (timer() ? timer().dataset.until - now() : Infinity);

  function written(span) {
    const seconds = Math.max(0, Math.ceil(span / SECOND));
    const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
    const text = (name) => texts[name].replace("{h}", h).replace("{m}", m).replace("{s}", s);
    if (span >= DAYS_FROM) return new Intl.RelativeTimeFormat(page).format(Math.floor(h / 24), "day");
    if (h) return text(m ? "both" : "hours");
    if (!m) return text("seconds");
    return text(calm.matches ? "minute" : "minutes");
  }

  function tick() {
    clearTimeout(ticking);
    if (!timer() || document.hidden) return;
    const text = written(left());
    if (timer().textContent !== text) timer().textContent = text;
    timer().hidden = timer().parentNode.hidden = false;
    if (left() > 0) ticking = setTimeout(tick, (left() % SECOND) + 1);
  }

  // ---- times in the payer's zone

  const clock = { hour: "numeric", minute: "2-digit", timeZoneName: "short" };
  const styles = { clock, moment: { year: "numeric", month: "long", day: "numeric", ...clock } };

  function localize() {
    for (const time of document.querySelectorAll("time[data-shows]")) {
      const shown = new Intl.DateTimeFormat(language, styles[time.dataset.shows]);
      time.textContent = shown.format(new Date(time.dateTime));
    }
  }

  // ---- what the server says of it

  const title = document.title;
  const PARTS = "#state, #delivered, #goal, #stock, #times, #paywith, #claim, #facts, #folded, #next";
  const shown = new Map();
  let quiet = -1; // looks in a row that brought nothing new; the page itself brings nothing either
  let failures = 0;
  let held = 0; // by performance.now(): until then nothing is asked, also by a tab that is seen again
  let asking = false;
  let looking;

  // The focus of what is gone moves to what became of it, so that the keyboard goes on from there.
  function replace(part, nodes) {
    const focused = part.contains(document.activeElement);
    part.replaceChildren(...nodes);
    if (!focused) return;
    const state = document.getElementById("state");
    state.tabIndex = -1;
    state.focus();
  }

  function take(fresh) {
    let news = false;
    ahead = Math.max(ahead, fresh.dataset.now - performance.now());
    for (const part of fresh.querySelectorAll(PARTS)) {
      const text = part.innerHTML;
      if (shown.get(part.id) === text) continue;
      shown.set(part.id, text);
      if (fresh === live) continue;
      replace(document.getElementById(part.id), part.childNodes);
      news = true;
    }
    localize();
    tick();
    quiet = news ? 0 : quiet + 1;
    for (const name of ["from", "again", "slowest"]) {
      if (name in fresh.dataset) live.dataset[name] = fresh.dataset[name];
      else delete live.dataset[name];
    }
  }

  function turn(fresh) {
    const parts = document.querySelectorAll("[data-while-payable]");
    const payable = "payable" in fresh.dataset;
    if (payable && !parts.length) again();
    for (const part of parts) part.hidden = !payable;
    document.title = fresh.dataset.title || title;
  }

  function pace() {
    const { again: first, slowest } = live.dataset;
    return Math.max(first, Math.min(first * GROWTH ** quiet, slowest));
  }

  // Gives the ms until the next look; null where the page is being left.
  async function ask() {
    const signal = AbortSignal.timeout?.(PATIENCE);
    const how = { cache: "no-store", credentials: "omit", redirect: "manual", signal };
    const answer = await fetch(live.dataset.from, how);
    if (answer.type === "opaqueredirect" || answer.status === 404) return again() ?? null;
    const wait = Number(answer.headers.get("Retry-After")) * SECOND;
    const text = answer.ok ? await answer.text() : "";
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("live");
    if (!fresh) throw new Wait(wait);
    failures = 0;
    turn(fresh);
    take(fresh);
    return pace();
  }

  class Wait extends Error {
    constructor(wait) {
      super();
      this.wait = wait;
    }
  }

  async function look() {
    if (asking || document.hidden || !live.dataset.from) return;
    const rest = held - performance.now();
    if (rest > 0) {
      clearTimeout(looking);
      looking = setTimeout(look, rest);
      return;
    }
    asking = true;
    try {
      plan(await ask());
    } catch (error) {
      failures += 1;
      const wait = Math.max(error.wait || 0, Math.min(pace() * 2 ** failures, LONGEST));
      held = performance.now() + wait;
      plan(wait);
    } finally {
      asking = false;
    }
  }

  // What the clock changes is asked for when it does.
  function plan(wait) {
    clearTimeout(looking);
    if (wait === null || !live.dataset.from) return;
    const soon = failures ? Infinity : Math.max(left(), SECOND);
    looking = setTimeout(look, Math.min(spread(wait), soon));
  }

  function resume() {
    if (document.hidden) return;
    tick();
    look();
  }

  // ---- texts to copy

  const COPIED = 2 * SECOND; // how long a button says that it has copied

  // Without the clipboard's API, as on a page without TLS, the shown text is selected and copied.
  async function copy(button) {
    const value = button.parentNode.querySelector(".value");
    try {
      await navigator.clipboard.writeText(button.dataset.copy || value.textContent);
    } catch {
      getSelection().selectAllChildren(value);
      if (!document.execCommand("copy")) return;
    }
    const text = button.firstChild;
    const label = text.data;
    if (label === button.dataset.done) return;
    text.data = button.dataset.done;
    button.classList.add("done");
    setTimeout(() => {
      text.data = label;
      button.classList.remove("done");
    }, COPIED);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });

  // ---- the sum, where the payer chooses the amount or the quantity

  const OTHER = "other"; // the button beside the payer's own amount
  const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xff10]; // of digits that are not ASCII
  const form = document.getElementById("pay");
  const own = document.getElementById("amount");
  const button = document.querySelector("[data-sum]");

  function ascii(char) {
    const zero = ZEROS.find((code) => char.charCodeAt(0) >= code && char.charCodeAt(0) < code + 10);
    return zero === undefined ? char : String(char.charCodeAt(0) - zero);
  }

  // The minor units of an amount; null for all that the server may read otherwise.
  function minor(text) {
    const plain = Array.from(text.trim(), ascii).join("");
    const [, whole, part = ""] = /^(\d{1,10})(?:[.,\u066b](\d{1,9}))?$/.exec(plain) ?? [];
    const decimals = Number(form.dataset.decimals);
    const shown = part.replace(/0+$/, "");
    if (!whole || shown.length > decimals) return null;
    if (part.length === 3 && /^[1-9]\d{0,2}$/.test(whole)) return null;
    return BigInt(whole + shown.padEnd(decimals, "0"));
  }

  // A header may name a language that no browser knows.
  function known(tag) {
    try {
      return Intl.NumberFormat.supportedLocalesOf([tag, page])[0];
    } catch {
      return page;
    }
  }

  function money(units) {
    const { before, after, decimals, shown, tag } = form.dataset;
    const digits = String(units).padStart(Number(decimals) + 1, "0");
    const cut = digits.length - decimals;
    const number = decimals === "0" ? digits : `${digits.slice(0, cut)}.${digits.slice(cut)}`;
    const how = { minimumFractionDigits: shown, maximumFractionDigits: decimals, numberingSystem: "latn" };
    return before + new Intl.NumberFormat(known(tag), how).format(number) + after;
  }

  function each() {
    const pressed = form.querySelector("[name=amount]:checked");
    if (pressed && pressed.value !== OTHER) return minor(pressed.value);
    return minor(own ? own.value : form.dataset.price);
  }

  const open = button?.textContent;

  function total() {
    const price = each();
    const quantity = BigInt(document.getElementById("quantity")?.value ?? 1);
    const sum = price ? money(price * quantity) : null;
    const text = (template) => template.replace("{sum}", () => sum);
    if (button) button.textContent = sum ? text(form.dataset.pay) : open;
    const output = document.getElementById("sum");
    if (output) output.textContent = sum ? text(form.dataset.total) : "";
  }

  // A typed amount presses its button, and another button takes it away: one of both is meant.
  function choose(event) {
    if (event.target === own && own.value) {
      const other = form.querySelector(`[value=${OTHER}]`);
      if (other) other.checked = true;
    } else if (own && event.target.name === "amount" && event.target.value !== OTHER) {
      if (event.target !== own) own.value = "";
    }
    total();
  }

  if (form && "price" in form.dataset) {
    form.addEventListener("input", choose);
    form.addEventListener("click", ({ target, detail }) => {
      if (target.value === OTHER && detail) own.focus();
    });
    addEventListener("pageshow", total);
    total();
  }

  // ---- what was refused: an error goes as soon as its field looks right; the server decides again

  const clusters = window.Intl.Segmenter && new Intl.Segmenter(page);
  const length = (text) => [...(clusters ? clusters.segment(text) : text)].length;

  function isOffered(amount) {
    const { least, most } = form.dataset;
    return amount !== null && (!least || amount >= minor(least)) && (!most || amount <= minor(most));
  }

  function looksRight(field) {
    if (field === own) return isOffered(each());
    if (field.dataset.most) return length(field.value.trim()) <= Number(field.dataset.most);
    if (field.type !== "tel") return field.value.trim() !== "" && field.checkValidity();
    const number = Array.from(field.value.replace(/^\W*tel\b/i, ""), ascii).join("");
    const digits = number.replace(/\D/g, "").length;
    return !/\p{L}/u.test(number) && digits >= 7 && digits <= 15;
  }

  function forget(field) {
    const hint = document.getElementById(`${field.id}-hint`);
    field.removeAttribute("aria-invalid");
    hint.removeAttribute("role");
    hint.className = "hint";
    hint.textContent = hint.dataset.hint;
    const box = form.querySelector(".problem");
    box?.querySelector(`[href="#${field.id}"]`)?.parentNode.remove();
    const left = box?.querySelectorAll("li").length;
    if (left) box.firstElementChild.textContent = box.firstElementChild.dataset[`left${left}`];
    else box?.remove();
  }

  form?.addEventListener("input", ({ target }) => {
    const field = target.name === "amount" ? own : target;
    if (field?.getAttribute("aria-invalid") && looksRight(field)) forget(field);
  });

  // ---- begin

  document.documentElement.classList.add("scripted");

  for (const picture of document.querySelectorAll(".picture, .face img")) {
    picture.decode().then(
      () => picture.classList.toggle("tall", picture.naturalHeight > TALL * picture.naturalWidth),
      () => picture.remove(),
    );
  }

  const print = document.querySelector("[data-print]");
  if (print) {
    print.hidden = false;
    print.firstElementChild.addEventListener("click", () => window.print());
  }

  const wait = document.querySelector("[data-reload]")?.dataset.reload;
  if (wait) setTimeout(again, spread(Number(wait)));

  if (live) {
    take(live);
    if (live.dataset.from) plan(pace());
    document.addEventListener("visibilitychange", resume);
    addEventListener("pageshow", (event) => event.persisted && resume());
  } else {
    localize();
  }
})();
