// What the rounds share: a receiver of webhooks, and a payer at the pay page.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

export interface Receiver {
  url: string;
  /** The first webhook, verified. */
  first: Promise<unknown>;
  close(): void;
}

export async function receiver(secret: string): Promise<Receiver> {
  const { promise: first, resolve, reject } = Promise.withResolvers<unknown>();
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    try {
      const headers = request.headers as Record<string, string>;
      resolve(new Webhook(secret).verify(Buffer.concat(parts).toString(), headers));
    } catch (error) {
      reject(error);
    }
    response.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, first, close: () => server.close() };
}

export async function pay(page: string): Promise<void> {
  const form = await (await fetch(page)).text();
  const token = /name="token" value="([^"]+)"/.exec(form)![1];
  const paid = await fetch(page, {
    method: "POST",
    body: new URLSearchParams({ token }),
    redirect: "manual",
  });
  if (paid.status !== 303) throw new Error(`not paid: ${paid.status}`);
}

export function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`no ${name}`);
  return value;
}
