# What a seller does with a request: edit it, print its poster, look up its payments.

command-alerts = Payments that I could not tell you

## What can be changed

button-edit-name = Name
button-edit-description = Description
button-edit-picture = Picture
button-edit-redirect = After payment
button-edit-email = E-mail
button-edit-end = End
button-edit-units = Take units out
button-edit-postertext = Poster text
button-edit-not = Price, receivers, kind…
button-duplicate = 📑 Duplicate
edit-not =
    <b>What can't be changed of “{ $name }”</b>
    Its kind, price, currencies, receivers, start and what payers are asked for. The link is out in the world: whoever opens it must find what they were promised, so the payment service lets nobody change these.

    Instead, make another request from it: everything is filled in, you change what you like, and it gets a link of its own. Stop or delete this one when nobody needs it any more.

## What was changed

saved = ✅ Saved: <b>{ $name }</b>
saved-name = Its name is now: { $value }
saved-description = Its description is now: { $value }
saved-picture = It has a new picture.
saved-redirect = After paying, payers go to: { $value }
saved-email = Each payment is told by e-mail to: { $value }
saved-end = It ends: { $value }
saved-units =
    { $value ->
        [one] { $value } piece is taken out and can't be sold any more.
       *[other] { $value } pieces are taken out and can't be sold any more.
    }
saved-postertext = The words on its poster are now: { $value }
cleared-description = It has no description any more.
cleared-picture = It has no picture any more.
cleared-redirect = After paying, payers see their receipt.
cleared-email = No e-mail is sent any more.
cleared-end = It has no end any more.
cleared-postertext = Its poster has no words of yours any more.
edit-unchanged = The payment service did not answer in time. When I asked again, <b>{ $name }</b> was still as before. Please try again in a minute.

## Units

toast-no-units = Only a limited drop has a number of pieces.
toast-none-left = Nothing is left that could be taken out.
units-too-many =
    { $left ->
        [one] ⚠ Only { $left } piece of <b>{ $name }</b> is left, so that many can't be taken out. Press Edit to take out fewer.
       *[other] ⚠ Only { $left } pieces of <b>{ $name }</b> are left, so that many can't be taken out. Press Edit to take out fewer.
    }
units-all = ⚠ Those are all the pieces of <b>{ $name }</b>. Stop or delete it instead.
units-doubted = The payment service did not answer, so I don't know yet whether the pieces of <b>{ $name }</b> were taken out. I am finding out and tell you; please don't take them out again meanwhile.
units-unknown = ⚠ I could not find out whether the pieces of <b>{ $name }</b> were taken out. Its card shows how many are left: if they are too many, take them out again.

## Deleting

delete-reserved =
    { $reserved ->
        [one] ⚠ { $reserved } is being paid right now. If that money still comes, you hear of it, but its payer may find nothing here.
       *[other] ⚠ { $reserved } are being paid right now. If that money still comes, you hear of it, but its payers may find nothing here.
    }

## The poster

poster =
    🖨 <b>Poster of “{ $name }”</b>
    With its name, price and QR code, to print or for stories. Prints come as a picture and as a PDF.
poster-link = Pay link: { $link }
poster-deep-link = In Telegram: { $link }
poster-text = Your words on it: <i>{ $value }</i>
button-print-light = 🖨 Print, light
button-print-dark = 🖨 Print, dark
button-square-light = 📱 Square, light
button-square-dark = 📱 Square, dark
button-poster-text-add = ✏ Add words
button-poster-text-change = ✏ Change the words
toast-poster = Your poster is on its way.
toast-poster-coming = It is already on its way.

## The payments of a request

payments =
    <b>Payments for { $name }</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(page { $page } of { $pages })
    }
payments-none = There are none yet. I tell you here as soon as somebody pays.
payments-total =
    { $count ->
        [one] Together: <b>{ $total }</b> from { $count } payment
       *[other] Together: <b>{ $total }</b> from { $count } payments
    }
payments-zone = <i>Times: { $zone }</i>
payments-line = { $at } · <b>{ $amount }</b>
payments-oversold = ⚠️ Oversold: you owe it back
payments-found = 🔎 Found later
payments-in-doubt = 🔎 Possibly told before
