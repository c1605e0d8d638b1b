"""The chat reads other servers by the names of the published interface."""

from __future__ import annotations

import pytest

from bot.chat.model import lenient, payment, remote_request
from bot.chat.payments import client, responses, webhook
from bot.interface import answers, events

OF_INTERFACE: dict[type[lenient.Sent], list[type[answers.Answer]]] = {
    payment.SentPaidBy: [answers.PaidByAnswer],
    remote_request.SentWebhook: [answers.WebhookAnswer],
    remote_request.SentNotifications: [answers.NotificationsAnswer],
    remote_request.SentItem: [answers.RequestItem],
    remote_request.SentAmount: [answers.PaymentAmount],
    remote_request.SentReceiver: [answers.ReceiverAnswer],
    remote_request.SentDelivery: [answers.DeliveryAnswerOfRequest],
    remote_request.SentRequest: [answers.RequestItem, answers.RequestAnswer],
    remote_request.SentPayment: [answers.PaymentAnswer, events.WebhookEvent],
    webhook.SentPaymentEvent: [answers.PaymentAnswer, events.WebhookEvent],
    webhook.SentClaim: [events.ClaimEvent],
    client.SentCheckout: [answers.CheckoutAnswer],
    client.SentMark: [answers.MarkedPaymentAnswer],
    responses.SentRefusal: [answers.ErrorAnswer],
    responses.SentProblem: [answers.FieldProblemAnswer],
}


def _every(kind: type[lenient.Sent]) -> set[type[lenient.Sent]]:
    below = kind.__subclasses__()
    return {*below, *(one for each in below for one in _every(each))}


def test_all_that_is_read_is_named_below() -> None:
    assert set(OF_INTERFACE) == _every(lenient.Sent)


@pytest.mark.parametrize("kind", OF_INTERFACE, ids=lambda kind: kind.__name__)
def test_each_field_that_is_read_is_one_of_the_interface(kind: type[lenient.Sent]) -> None:
    read = {field.alias for field in kind.model_fields.values()}
    sent = {field.alias for answer in OF_INTERFACE[kind] for field in answer.model_fields.values()}
    assert read <= sent
