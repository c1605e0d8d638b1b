# The card's menu, a payment's number, and how a seller finds a payment. As in chat.ftl.

button-more = ⋯ More

## Money that came when nothing was left

to-refund =
    ⚠️ To refund: <b>{ $amount }</b> ({ $count ->
        [one] { $count } payment
       *[other] { $count } payments
    })
