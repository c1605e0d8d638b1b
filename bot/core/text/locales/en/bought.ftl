# Receipts that payers keep in Telegram. HTML as in chat.ftl.

command-bought = Your purchases and receipts

## A receipt in its payer's chat

receipt-kept = 🧾 <b>{ $name }</b>
receipt-kept-seller = from { $name }
receipt-kept-units = Yours: { $numbers }
receipt-kept-units-of = Yours: { $numbers } of { $total }
receipt-kept-oversold = ⚠ Your payment arrived too late to count as a purchase. Ask the seller for a refund.
receipt-kept-waits =
    { $there ->
        [0] { $count ->
            [one] ⏳ <b>Yours is on its way.</b>
           *[other] ⏳ <b>Yours are on their way.</b>
        }
       *[other] ⏳ <b>The rest is on its way.</b>
    } I'll send you everything here as soon as it's ready.
receipt-kept-codes =
    { $count ->
        [one] 🔑 Your code (tap to copy):
       *[other] 🔑 Your { $count } codes (tap to copy):
    }
receipt-kept-file = 📎 { $name } · { $size }
receipt-kept-rest = … The rest doesn't fit here: it's on your receipt.
receipt-kept-page = Your receipt: { $url }
receipt-kept-gone = The receipt for <b>{ $name }</b> can't be opened any more. If you still need it, ask the seller.

## Keeping one, and the list

receipt-unknown = I can't find that receipt. Open your receipt in the browser and tap <b>Keep it in Telegram</b> there.
receipt-taken = This receipt is already kept in another Telegram account, so I can't show it here. You can still open it in the browser.
receipt-later = The payment service isn't responding. I'll send you your receipt as soon as it does. You don't need to do anything.
receipt-given-up = The payment service hasn't responded for a day, so I couldn't get your receipt. It isn't lost: open it in the browser and tap <b>Keep it in Telegram</b> again.
bought =
    <b>What you've bought</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(page { $page } of { $pages })
    }
    Tap a purchase to see its receipt and what you got.
bought-none =
    <b>You haven't kept any receipts yet.</b>
    When you've paid, open your receipt and tap <b>Keep it in Telegram</b>. You'll find it here from then on, with everything you got.
bought-line =
    { $standing ->
        [sent] 📦 { $name } · { $price } · sent
        [paidBack] ↩ { $name } · { $price } · paid back
        [oversold] ⚠ { $name } · { $price } · refund due
        [waits] ⏳ { $name } · { $price } · on its way
       *[paid] ✅ { $name } · { $price }
    }
toast-receipt-gone = This receipt isn't in your list any more. To keep it again, open it in the browser.
toast-receipt-removed = Removed from your list. You won't get any more updates about it. To keep it again, open it in the browser.

## News about a kept receipt

receipt-news-sent = 📦 The seller has sent <b>{ $name }</b>.
receipt-news-back = ↩ The seller has marked your payment of <b>{ $amount }</b> for <b>{ $name }</b> as paid back. It may take a few days for the money to reach you.
receipt-news-code =
    { $count ->
        [one] 🎉 <b>Your code has arrived.</b>
       *[other] 🎉 <b>Your codes have arrived.</b>
    }
receipt-news-goods = 🎉 <b>What you bought is here.</b>

## Buttons

button-copy-code = 📄 Copy code
button-receipt = 🧾 Open receipt
button-bought = 🛍 My purchases
button-receipt-show = 🧾 Show receipt
