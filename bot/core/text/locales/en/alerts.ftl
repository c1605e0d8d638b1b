# How sellers are told of payments: the choice for each request, the totals, the daily summary, the
# end of a drop, and what could not be delivered. As in chat.ftl.

## What a request took in all

alert-together =
    Together: <b>{ $total }</b> from { $count ->
        [one] { $count } payment
       *[other] { $count } payments
    }

## On, silent or off

alerts-menu =
    🔔 <b>Alerts of “{ $name }”</b>
    How shall I tell you of its payments?

    • <b>On</b>: a message with a sound for each payment.
    • <b>Silent</b>: the same message without a sound.
    • <b>Off</b>: no message at all; the request's card is kept up to date. Only money that came when nothing was left is told all the same, for you owe it back.
alerts-menu-quiet =
    In your quiet hours nothing makes a sound, whatever you choose here.
button-alerts-on = On
button-alerts-silent = Silent
button-alerts-off = Off
button-chosen = ✅ { $label }
toast-alerts-on = Alerts are on: each payment comes with a sound.
toast-alerts-silent = Alerts are silent: each payment comes without a sound.
toast-alerts-off = Alerts are off: only the card is kept up to date. Money that you owe back is told all the same.

## The end of a drop

drop-told =
    🏁 <b>{ $name }</b>: { $sold ->
        [one] the only one sold = { $told } alert delivered
       *[other] all { $sold } sold = { $told } alerts delivered
    }
drop-sold =
    🏁 <b>{ $name }</b>: { $sold ->
        [one] the only one sold
       *[other] all { $sold } sold
    }, { $told ->
        [one] { $told } alert delivered
       *[other] { $told } alerts delivered
    }
drop-muted =
    { $muted ->
        [one] { $muted } payment came while alerts were off.
       *[other] { $muted } payments came while alerts were off.
    }
drop-lost =
    ⚠ { $lost ->
        [one] { $lost } alert could not be delivered: /alerts shows it.
       *[other] { $lost } alerts could not be delivered: /alerts shows them.
    }
drop-oversold =
    ⚠ { $oversold ->
        [one] Besides, { $oversold } payment came when nothing was left: you owe it back.
       *[other] Besides, { $oversold } payments came when nothing was left: you owe them back.
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
        [one] … and { $more } more request
       *[other] … and { $more } more requests
    }
summary-none = 📊 Nothing came in within the last 24 hours.

## What could not be delivered

undelivered-none = ✅ Everything was delivered: no alert is missing.
undelivered = ⚠ <b>Alerts that have not reached you</b>
undelivered-line = • { $at }: <b>{ $amount }</b> for <b>{ $name }</b>: { $why }
undelivered-several =
    • { $at }: <b>{ $amount }</b> for <b>{ $name }</b> ({ $count ->
        [one] { $count } payment
       *[other] { $count } payments
    }): { $why }
undelivered-more =
    { $more ->
        [one] … and { $more } message before these
       *[other] … and { $more } messages before these
    }
undelivered-refused = Telegram did not take the message
undelivered-unclear = Telegram never said whether it arrived
undelivered-blocked = you had blocked me; it comes now
undelivered-waiting = it is on its way
undelivered-hint = No payment is lost: all of them count. Press <b>Send again</b>, and I try once more.
button-send-again = 🔁 Send again
toast-sent-again = They are on their way again.
toast-all-delivered = Everything was delivered.
