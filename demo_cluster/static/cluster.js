// The page of the cluster: asks for its state again and again, and shows it.

const LOOK_MS = 700;
const STATES = {
  leads: ["Leading", "good"],
  serves: ["Serving", "good"],
  starting: ["Not ready", "wait"],
  leaving: ["Stopping", "wait"],
  frozen: ["Frozen", "bad"],
  ended: ["Dead", "bad"],
};
const ACTS = {
  kill: "Kill",
  leave: "Stop",
  freeze: "Freeze",
  thaw: "Unfreeze",
  start: "Start",
};

const byId = (id) => document.getElementById(id);
const cards = new Map();

function actsOf(state) {
  if (state === "ended") return ["start"];
  if (state === "frozen") return ["thaw", "kill"];
  return ["kill", "leave", "freeze"];
}

async function send(body) {
  const answer = await fetch("/cluster/acts", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.ok) show(await answer.json());
}

function button(act, replica) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = ACTS[act];
  made.setAttribute("aria-label", `${ACTS[act]} replica ${replica}`);
  made.classList.toggle("danger", act === "kill");
  made.classList.toggle("main", act === "start" || act === "thaw");
  made.addEventListener("click", () => send({ act, replica }));
  return made;
}

function cardOf(number) {
  if (!cards.has(number)) {
    const card = document.createElement("li");
    card.className = "card";
    const head = Object.assign(document.createElement("div"), { className: "head" });
    const name = Object.assign(document.createElement("h2"), { textContent: `Replica ${number}` });
    const state = Object.assign(document.createElement("span"), { className: "state" });
    const facts = Object.assign(document.createElement("p"), { className: "hint" });
    const acts = Object.assign(document.createElement("div"), { className: "acts" });
    head.append(name, state);
    card.append(head, facts, acts);
    byId("replicas").append(card);
    cards.set(number, { card, state, facts, acts, shown: "" });
  }
  return cards.get(number);
}

function showReplica(replica) {
  const { card, state, facts, acts } = cardOf(replica.number);
  const [word, mood] = STATES[replica.state];
  card.classList.toggle("leads", replica.state === "leads");
  state.textContent = word;
  state.className = `state ${mood}`;
  const process = replica.pid ? `Process ${replica.pid}. ` : "";
  facts.textContent = `${process}Requests answered: ${replica.answered}.`;
  const known = cards.get(replica.number);
  if (known.shown !== replica.state) {
    acts.replaceChildren(...actsOf(replica.state).map((act) => button(act, replica.number)));
    known.shown = replica.state;
  }
}

function showPayers(payers) {
  byId("payers-switch").textContent = payers.on ? "Stop" : "Send one a second";
  byId("payers-switch").className = payers.on ? "" : "main";
  byId("payers-switch").disabled = !payers.link;
  byId("payers-switch").onclick = () => send({ act: "payers", on: !payers.on });
  byId("payers-state").textContent = `${payers.paid} paid`;
  const parts = [];
  if (!payers.link) parts.push("First create a donation link in the chat.");
  if (payers.repeated) parts.push(`${payers.repeated} errors on the way.`);
  if (payers.refused) parts.push(`${payers.refused} found that the link can’t be paid.`);
  if (payers.givenUp) parts.push(`${payers.givenUp} gave up.`);
  byId("payers-hint").textContent = parts.join(" ");
}

function showDatabase(runs) {
  byId("database-state").textContent = runs ? "Running" : "Stopped";
  byId("database-state").className = `state ${runs ? "good" : "bad"}`;
  byId("database-switch").textContent = runs ? "Stop" : "Start";
  byId("database-switch").className = runs ? "danger" : "main";
  byId("database-switch").onclick = () => send({ act: `${runs ? "stop" : "start"}-database` });
}

function showEvents(events) {
  byId("events-none").hidden = events.length > 0;
  const lines = events.map(({ at, text }) => {
    const line = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = new Date(at * 1000).toLocaleTimeString();
    line.append(time, Object.assign(document.createElement("span"), { textContent: text }));
    return line;
  });
  if (byId("events").textContent !== lines.map((line) => line.textContent).join("")) {
    byId("events").replaceChildren(...lines);
  }
}

function show(state) {
  state.replicas.forEach(showReplica);
  showDatabase(state.database);
  showPayers(state.payers);
  showEvents(state.events);
}

async function look() {
  try {
    const answer = await fetch("/cluster/state");
    show(await answer.json());
    byId("toast").hidden = true;
  } catch {
    byId("toast").hidden = false;
  }
  setTimeout(look, LOOK_MS);
}

look();
