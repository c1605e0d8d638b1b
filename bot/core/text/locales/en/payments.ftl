# The card's menu, a payment's number, and how a seller finds a payment. As in chat.ftl.

button-more = ⋯ More

## Money that came when nothing was left

to-refund =
    ⚠️ To refund: <b>{ $amount }</b> ({ $count ->
        [one] { $count } payment
       *[other] { $count } payments
    })

## A payment's number, which a tap copies

payment-number = 🧾 <code>{ $number }</code>
alert-more-numbers =
    { $more ->
        [one] … and { $more } more payment: its number is under More → Payments.
       *[other] … and { $more } more payments: their numbers are under More → Payments.
    }

## What /find finds

find-help =
    <b>Find a payment</b>
    Send /find with the reference or the transaction number from your payer's receipt, like <code>/find 64b7c0a1</code>. The number's first or last { $least } characters are enough.

    To find a payment link, send part of its name, like <code>/find Coffee</code>.
find-payment = 🔎 <b>Payment for { $name }</b>
find-several = 🔎 <b>{ $count } payments match</b>
find-more-payments = There are more. Type more of the number to narrow it down.
find-links = 🔎 <b>Payment links with “{ $text }”</b>
find-more-links = There are more. Type more of the name to narrow it down.
find-none =
    Nothing found for “{ $text }”.
    Check it against the payer's receipt: a reference or a transaction number will do. From the number, at least { $least } characters of its start or end are needed. If it's right, the payment went to another seller.

## A drop whose last items are all being paid for

mark-reserved = 🟡
status-reserved-left = 🟡 { $left }
