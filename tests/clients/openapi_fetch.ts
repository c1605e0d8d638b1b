// A round of openapi-fetch over the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";
import { pay, receiver, setting } from "./payer.js";

const client = createClient<paths>({
  baseUrl: setting("SERVICE"),
  headers: { "App-Id": setting("APP_ID"), "App-Secret": setting("APP_SECRET") },
});
const hooks = await receiver(setting("WEBHOOK_SECRET"));

const { data: made } = await client.POST("/v3/paymentRequests", {
  body: {
    product: { name: "Sticker pack" },
    instrumentCurrencyCode: "USD",
    receivers: [{ sendAmount: 2.5, destination: "alice" }],
    expirationType: "limit",
    totalUnits: 10,
    notifications: { webhook: { webhookUrl: hooks.url } },
  },
});
if (!made) throw new Error("not created");

const { data: list } = await client.GET("/v3/paymentRequests", { params: { query: { limit: 5 } } });

const edits = [];
for (let time = 0; time < 2; time++) {
  const { data } = await client.PUT("/v3/paymentRequests/{id}", {
    params: { path: { id: made.id }, header: { "Idempotency-Key": "one edit" } },
    body: { product: { name: "Two packs" }, decreaseRemainingUnits: 2 },
  });
  edits.push([data?.product.name, data?.remainingUnits]);
}

await pay(made.paymentRequestUrl);
const event = (await hooks.first) as components["schemas"]["WebhookEvent"];
hooks.close();
const { data: payment } = await client.GET("/v3/paymentRequests/{id}/payments/{transactionId}", {
  params: { path: { id: made.id, transactionId: event.transactionId } },
});

const { response } = await client.DELETE("/v3/paymentRequests/{id}", {
  params: { path: { id: made.id } },
  parseAs: "text",
});
const { error } = await client.GET("/v3/paymentRequests/{id}", {
  params: { path: { id: made.id } },
});

console.log(
  JSON.stringify({
    listed: list?.items.map((item) => item.id === made.id),
    edits,
    webhook: [event.amount, event.currencyCode, event.remainingUnits],
    payment: [payment?.amount, payment?.currencyCode],
    deleted: response.status,
    afterwards: error?.code,
  }),
);
