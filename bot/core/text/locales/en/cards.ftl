# A request's card in its seller's chat, and as others see it.

button-edit = ✏ Edit
button-poster = 🖼 Poster
button-payments = 💰 Payments
button-alerts = 🔔 Alerts
card-taken =
    { $paid ->
        [one] Paid once · <b>{ $amount }</b> taken so far
       *[other] Paid { $paid } times · <b>{ $amount }</b> taken so far
    }
card-starts = Opens { $moment }
card-ends = Ends { $moment }
card-email-unconfirmed = ✉ { $email } isn't confirmed yet: open the link in the e-mail sent there. Payments until then come in one summary.
card-email-confirmed = ✉ Payments are also e-mailed to { $email } (confirmed { $moment })
card-email-ended = ✉ { $email } doesn't want e-mails any more.

## A word or two, in capitals, across the code of the picture

stamp-soldOut = SOLD OUT
stamp-expired = EXPIRED
stamp-stopped = STOPPED
stamp-completed = PAID
stamp-deleted = DELETED

## As others see it

public-gone = <b>{ $name }</b> is no longer available.
link-gone = There is nothing to pay under this link. It may be over, or not copied whole: ask whoever gave it to you for a new one.
poster-scan = Scan to pay
