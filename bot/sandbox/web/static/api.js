// The control API of the sandbox.

async function answerOf(response) {
  const body = await response.json();
  if (!response.ok) throw new Error(body.error || response.statusText);
  return body;
}

export async function get(name, parameters) {
  return answerOf(await fetch(`/chat/api/${name}?${new URLSearchParams(parameters)}`));
}

export async function post(name, body) {
  return answerOf(await fetch(`/chat/api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }));
}

// `kind` is photo or document.
export async function postFile(kind, fields, file) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(kind, file, file.name || "picture.png");
  return answerOf(await fetch(`/chat/api/${kind}`, { method: "POST", body: form }));
}

export const fileAddress = (id) => `/chat/files/${encodeURIComponent(id)}`;
