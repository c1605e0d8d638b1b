# The card's menu, a payment's number, and how a seller finds a payment. As in chat.ftl.

button-more = ⋯ More

## Money that came when nothing was left

to-refund =
    ⚠️ To refund: <b>{ $amount }</b> ({ $count ->
        [one] { $count } payment
       *[other] { $count } payments
    })

## A payment's number, which a tap copies

payment-number = Transaction <code>{ $number }</code>
alert-more-numbers =
    { $more ->
        [one] … and { $more } more payment: its number is under More → Payments.
       *[other] … and { $more } more payments: their numbers are under More → Payments.
    }
