# A payment link's card in its seller's chat, and as others see it.

button-edit = ✏ Edit
button-poster = 🖼 Poster
button-payments = 💰 Payments
button-alerts = 🔔 Alerts
card-taken =
    { $paid ->
        [one] { $paid } payment · <b>{ $amount }</b>
       *[other] { $paid } payments · <b>{ $amount }</b>
    }
card-starts = Opens { $moment }
card-ends = Ends { $moment }
card-email-unconfirmed = ✉ { $email } isn't confirmed yet. Open the link in the email sent to that address. Payments made before then will arrive in one summary.
card-email-confirmed = ✉ Payments are also emailed to { $email } (confirmed { $moment })
card-email-ended = ✉ { $email } has unsubscribed from payment emails.

## A word or two, in capitals, across the code of the picture

stamp-soldOut = SOLD OUT
stamp-expired = EXPIRED
stamp-stopped = PAUSED
stamp-completed = PAID
stamp-deleted = DELETED

## As others see it

public-gone = <b>{ $name }</b> is no longer available.
link-gone = Link not found. It may have expired, or part of it may be missing. Ask whoever sent it to you for a new one.
poster-scan = Scan to pay
