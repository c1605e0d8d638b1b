// A round of the client of @hey-api/openapi-ts.
import { client } from "./generated/client.gen.js";
import {
  createPaymentRequest,
  deletePaymentRequest,
  editPaymentRequest,
  getPayment,
  getPaymentRequest,
  listPaymentRequests,
} from "./generated/sdk.gen.js";
import type { CreateBody, EditBody, WebhookEvent } from "./generated/types.gen.js";
import { pay, receiver, setting } from "./payer.js";

client.setConfig({
  baseUrl: setting("SERVICE"),
  auth: ({ name }) => setting(name === "App-Id" ? "APP_ID" : "APP_SECRET"),
});
const hooks = await receiver(setting("WEBHOOK_SECRET"));

const body: CreateBody = {
  product: { name: "Sticker pack" },
  instrumentCurrencyCode: "USD",
  receivers: [{ sendAmount: 2.5, destination: "alice" }],
  expirationType: "limit",
  totalUnits: 10,
  notifications: { webhook: { webhookUrl: hooks.url } },
};
const { data: made } = await createPaymentRequest({ body });
if (!made) throw new Error("not created");
const path = { id: made.id };

const { data: list } = await listPaymentRequests({ query: { limit: 5 } });

const change: EditBody = { product: { name: "Two packs" }, decreaseRemainingUnits: 2 };
const headers = { "Idempotency-Key": "one edit" };
const edits = [];
for (let time = 0; time < 2; time++) {
  const { data } = await editPaymentRequest({ path, headers, body: change });
  edits.push([data?.product.name, data?.remainingUnits]);
}

await pay(made.paymentRequestUrl);
const event = (await hooks.first) as WebhookEvent;
hooks.close();
const { data: payment } = await getPayment({
  path: { ...path, transactionId: event.transactionId },
});

const { response } = await deletePaymentRequest({ path });
const { error } = await getPaymentRequest({ path });

console.log(
  JSON.stringify({
    listed: list?.items.map((item) => item.id === made.id),
    edits,
    webhook: [event.amount, event.currencyCode, event.remainingUnits],
    payment: [payment?.amount, payment?.currencyCode],
    deleted: response?.status,
    afterwards: error?.code,
  }),
);
