# How sellers are notified of payments: the choice for each payment link, the totals, the daily
# summary, the end of a drop, and what could not be delivered. As in chat.ftl.

## What a payment link has earned so far

alert-goal-reached = 🎉 <b>Goal reached</b>: { $goal }

## On, silent or off

alerts-menu =
    🔔 <b>Alerts for “{ $name }”</b>
    How should I notify you about payments?

    • <b>On</b>: a message with sound for each payment.
    • <b>Silent</b>: the same message, without sound.
    • <b>Off</b>: no alerts. The card stays up to date, and I'll let you know when a limited drop sells out. You'll still hear about oversold payments, because you need to refund them, and about buyers who are waiting for a code.
alerts-menu-quiet =
    During your quiet hours everything arrives silently, whatever you choose here.
button-alerts-on = On
button-alerts-silent = Silent
button-alerts-off = Off
button-chosen = ✅ { $label }
toast-alerts-on = Alerts are on. You'll get a message with sound for each payment.
toast-alerts-silent = Alerts are silent. You'll get a message without sound for each payment.
toast-alerts-off = Alerts are off, but the card stays up to date. You'll still hear about payments to refund, and buyers waiting for a code.

## The end of a drop

drop-sold =
    🏁 <b>{ $name }</b>
    Sold out: { $sold ->
        [one] the only one sold.
       *[other] all { $sold } sold.
    }
drop-muted =
    { $muted ->
        [one] { $muted } payment came in while alerts were off.
       *[other] { $muted } payments came in while alerts were off.
    }
drop-lost =
    ⚠ { $lost ->
        [one] { $lost } alert couldn't be delivered. See /alerts.
       *[other] { $lost } alerts couldn't be delivered. See /alerts.
    }
drop-oversold =
    ⚠ { $oversold ->
        [one] { $oversold } payment arrived when you didn't have enough left. Please refund it.
       *[other] { $oversold } payments arrived when you didn't have enough left. Please refund them.
    }

## The daily summary

summary = 📊 <b>The last 24 hours</b>
summary-line =
    • <b>{ $name }</b>: { $total } from { $count ->
        [one] { $count } payment
       *[other] { $count } payments
    }
summary-more =
    { $more ->
        [one] … and { $more } more payment link
       *[other] … and { $more } more payment links
    }
summary-none = 📊 No payments in the last 24 hours.

## What could not be delivered

undelivered-none = ✅ All your alerts were delivered. Nothing is missing.
undelivered = ⚠ <b>Alerts that didn't reach you</b>
undelivered-line =
    • { $at }: <b>{ $amount }</b> for <b>{ $name }</b>{ $count ->
        [1] { "" }
       *[other] { " " }({ $count } payments)
    }: { $why }
undelivered-more =
    { $more ->
        [one] … and { $more } earlier message
       *[other] … and { $more } earlier messages
    }
undelivered-refused = Telegram rejected the message
undelivered-unclear = Telegram never confirmed that it arrived
undelivered-blocked = you'd blocked me; it's on its way now
undelivered-waiting = it's on its way
undelivered-hint = No payment is lost: they all count. Tap <b>Send again</b> and I'll try once more.
button-send-again = 🔁 Send again
toast-sent-again = On their way again.
toast-all-delivered = All your alerts were delivered.
