# What a seller does with a payment link: edit it, print its poster, look up its payments.

command-alerts = Payments I couldn't notify you about

## What can be changed

button-edit-name = Name
button-edit-description = Description
button-edit-picture = Photo
button-edit-redirect = After payment
button-edit-email = Payment emails
button-edit-end = End date
button-edit-units = Remove items
button-edit-postertext = Poster text
button-edit-not = Price, receivers, type…
button-duplicate = 📑 Duplicate
edit-not =
    <b>What you can't change in “{ $name }”</b>
    Its type, price, currencies, receivers, start date and what payers are asked for. Your link is already out there, and anyone who opens it should find what they were promised. That's why the payment service doesn't let anyone change these.

    Instead, duplicate it: everything is filled in, you change what you like, and the copy gets its own link. Pause or delete this one when nobody needs it any more.

## What was changed

saved = ✅ Saved: <b>{ $name }</b>
saved-name = Name updated: { $value }
saved-description = Description updated: { $value }
saved-picture = Photo updated.
saved-redirect = After payment, payers now go to: { $value }
saved-email = Payment emails now go to: { $value }
saved-end = End date updated: { $value }
saved-units =
    { $value ->
        [one] { $value } item removed. It's no longer for sale.
       *[other] { $value } items removed. They're no longer for sale.
    }
saved-postertext = Poster text updated: { $value }
cleared-description = Description removed.
cleared-picture = Photo removed.
cleared-redirect = Web address removed. After payment, payers see their receipt.
cleared-email = Payment emails turned off.
cleared-end = End date removed.
cleared-postertext = Poster text removed.
edit-unchanged = The payment service didn't respond in time. I checked again, and <b>{ $name }</b> hadn't changed. Please try again in a minute.

## Units

toast-no-units = Only a limited drop has a quantity.
toast-none-left = There's nothing left to remove.
units-too-many =
    { $left ->
        [one] ⚠ <b>{ $name }</b> has only { $left } item left, so I couldn't remove that many. Tap Edit to remove fewer.
       *[other] ⚠ <b>{ $name }</b> has only { $left } items left, so I couldn't remove that many. Tap Edit to remove fewer.
    }
units-all = ⚠ You can't remove every item from <b>{ $name }</b>. Pause or delete it instead.
units-doubted = The payment service didn't respond, so I don't know yet whether the items were removed from <b>{ $name }</b>. I'm checking and I'll let you know. Please don't remove them again in the meantime.
units-unknown = ⚠ I couldn't find out whether the items were removed from <b>{ $name }</b>. Its card shows how many are left. If that's too many, remove them again.

## Deleting

delete-reserved =
    { $reserved ->
        [one] ⚠ { $reserved } payment is in progress. If it still arrives, I'll let you know, but the payer may find nothing here.
       *[other] ⚠ { $reserved } payments are in progress. If they still arrive, I'll let you know, but the payers may find nothing here.
    }

## The poster

poster =
    🖨 <b>Poster for “{ $name }”</b>
    With its name, price and QR code, for printing or stories. Print versions come as a picture and a PDF.
poster-link = Payment link: { $link }
poster-deep-link = In Telegram: { $link }
poster-text = Your text: <i>{ $value }</i>
button-print-light = 🖨 Print, light
button-print-dark = 🖨 Print, dark
button-square-light = 📱 Square, light
button-square-dark = 📱 Square, dark
button-poster-text-add = ✏ Add text
button-poster-text-change = ✏ Change text
poster-refused = ⚠ Telegram wouldn't take the poster for <b>{ $name }</b>. You can try again in a few minutes.
button-poster-again = 🔁 Try again
toast-poster = Your poster is on its way.
toast-poster-coming = It's already on its way.

## The payments of a payment link

payments =
    <b>Payments for { $name }</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(page { $page } of { $pages })
    }
payments-total =
    { $count ->
        [one] Total: <b>{ $total }</b> from { $count } payment
       *[other] Total: <b>{ $total }</b> from { $count } payments
    }
payments-zone = <i>Times: { $zone }</i>
payments-line = { $at } · <b>{ $amount }</b>
payments-oversold = ⚠️ Oversold: please refund it
payments-found = 🔎 Found later
payments-in-doubt = 🔎 Possibly reported before
