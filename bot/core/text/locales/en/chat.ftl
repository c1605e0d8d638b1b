# The conversation, the cards, the alerts. HTML as Telegram has it: b, i, code, a.
# Button labels, toasts and what begins with command- or bot- are plain text.
# Values come escaped. A number passed as a number is grouped and takes part in plurals.

# A request is a "payment link", the destination a "payout address", units are "items".

bot-description =
    Get paid in Telegram. Tell me what it's for and what it costs. I'll make a payment link with a QR code to share anywhere, and let you know the moment someone pays.

    For donations, one-off sales and limited drops. Tap Start to make your first one.
bot-short-description = Make a payment link in a minute, share it anywhere and see each payment as it arrives.
command-new = Make a payment link, step by step
command-list = Your payment links
command-find = Find a payment by its number
command-donation = In one line: 5 USD Coffee for the team
command-oneoff = In one line: 120 EUR Painting "Dawn"
command-drop = In one line: 100 2.50 USD Sticker pack
command-settings = Profile, payout address, time zone, quiet hours
command-help = How it all works
command-cancel = Cancel the form you're in
command-privacy = What I store about you
command-paysupport = Help with a payment
command-start = Get started

## Telegram's profile and menu of commands

start =
    <b>Hello!</b> I make payment links for you.
    Tell me what it's for and what it costs, then share the link or its QR code. I'll let you know here as soon as someone pays.

    Tap <b>New payment link</b> to make your first one.
digital-goods =
    <i>Telegram requires Stars for digital goods. Use me for donations, physical goods and in-person services.</i>
help =
    <b>What I make</b>
    • <b>Donation</b>: a link that can be paid again and again.
    • <b>One-off</b>: for a single item. It closes once it's paid.
    • <b>Limited drop</b>: for a set number of items. It closes when the last one is sold.

    <b>Step by step</b>
    /new walks you through it. /cancel stops at any time.

    <b>In one line</b>
    <code>/donation 5 USD Coffee for the team</code>
    <code>/oneoff 120 EUR Painting "Dawn"</code>
    <code>/drop 100 2.50 USD Sticker pack</code>
    Send it as the caption of a photo or a file, and I'll use that as well.

    <b>After that</b>
    /list shows your payment links. Each one has a card with buttons to share it, print a poster, see its payments, edit it, set its alerts, pause it or delete it.
    <b>Share</b> posts a card in any chat and keeps it up to date there. You can also type @ and my name in any chat to find your payment links.
    /payments shows your latest payments, and those waiting for your answer.
    /alerts lists payments I couldn't notify you about.
    /find finds a payment by its reference or transaction number, or a payment link by its name.
    /getpaid sets where your money goes.
    /bought lists what you've bought, with your receipts.
    /settings has your profile, payout address, time zone, quiet hours and daily summary.
    /privacy explains what I store, /paysupport helps with a payment.
not-understood = I'm not sure what to do with that. Tap <b>New payment link</b> to make one, or see /help.
paysupport =
    <b>Help with a payment</b>
    <b>You paid someone:</b> first contact the seller who gave you the link. They send the goods and make refunds. Have the transaction number from your receipt ready.
    <b>You're the seller:</b> send /find with the transaction number your payer quotes. To see where a payment link stands, open it from /list.
    If that doesn't help, contact { $operator } and mention the transaction number. Telegram Support can't help with payments made here.
privacy =
    <b>What I store and why</b>
    • Your Telegram ID and language, to recognise you and reply in your language.
    • Your payout address or payout accounts, to send your money there; keys are encrypted. Your time zone, quiet hours, summary time and last prices, so I don't have to ask again.
    • Your profile (name, picture, contact and more), to show payers who they're paying.
    • Your payment links with their photos, and the form you're filling in, to show and run them.
    • Which messages show a payment link, including in other chats, to keep them up to date.
    • Your messages and button taps until they've been handled, so none get lost.
    • Receipts you keep here, with what you bought and when. What you got stays with the payment service. I only fetch it to show it to you.
    • Payments through your links, with the details you ask payers for (such as an email address) and your notes, to let you know about them.

    <b>Who can see it</b>
    You, and whoever runs this bot and its payment service. Anyone with a link can see what it offers and your profile, and nothing else. Nothing is sold or used for advertising.

    <b>How long</b>
    As long as you use the bot. A form is deleted when you finish or cancel it.

    <b>Deleting your data</b>
    Contact { $operator } and ask. Everything about you will be deleted, except for payment records that must be kept by law.

## Greeting and help

button-new = ➕ New payment link
button-list = 📋 My links
button-help = ❓ Help
button-back = ⬅ Back
button-cancel = ✖ Cancel
button-skip = Skip
button-keep = Keep: { $value }
button-create = ✅ Create
button-continue = Continue
button-restart = Start over
button-donation = ☕ Donation
button-oneoff = 🖼 One-off
button-drop = 🎟 Limited drop
button-set-destination = 🏦 Set payout address
button-change-destination = 🏦 Change payout address
button-open = 🔗 Open
button-copy = 📄 Copy link
button-share = 📣 Share
button-refresh = 🔄 Refresh
button-stop = ⏸ Pause
button-resume = ▶ Resume
button-delete = 🗑 Delete
button-delete-yes = Yes, delete it
button-keep-it = No, keep it
button-previous = ⬅ Previous
button-next = Next ➡
button-show-card = Show payment link
button-pay = Pay { $amount }

## Buttons

progress = <i>Step { $step } of { $steps }</i>
ask-kind =
    <b>What kind of payment link is it?</b>
    • <b>Donation</b>: can be paid again and again.
    • <b>One-off</b>: closes once it's paid.
    • <b>Limited drop</b>: for a set number of items.
ask-name =
    <b>What's it called?</b>
    Payers will see this name. For example: <i>Coffee for the team</i>
ask-description =
    <b>Describe it in a sentence or two</b>, up to 500 characters.
    For example: <i>Strong and hot, from the machine by the door</i>
ask-amount-donation = <b>How much is each donation?</b>
ask-amount-oneoff = <b>How much does it cost?</b>
ask-amount-drop = <b>How much does one item cost?</b>
ask-amount-hint = Type an amount and a currency, like <code>5 USD</code> or <code>2.50 €</code>.
ask-amount-usual = Type <code>{ $example }</code> for { $meant }, or include another currency, like <code>{ $other }</code>.
ask-which-amount =
    <b>Which amount do you mean?</b>
    That can be read in more than one way. Choose below, or type it again.
ask-currency =
    <b>Which currency is it in?</b>
    Choose below, or type its code, like <code>SEK</code>.
ask-units =
    <b>How many items are there?</b>
    Type a whole number, like <code>100</code>.
ask-destination = <b>Where should the money go?</b>
ask-destination-settings = <b>Where should your money go from now on?</b>
review = <b>Does everything look right?</b>
review-name = Name: <b>{ $value }</b>
review-kind = Type: { $value }
review-amount = Amount: <b>{ $value }</b>
review-units = Quantity: <b>{ $value }</b>
review-description = Description: { $value }
review-destination = Money goes to: <code>{ $value }</code>
kind-donation = Donation
kind-oneoff = One-off
kind-drop = Limited drop
resume =
    You've already started a payment link: <b>{ $name }</b>.
    Continue where you left off, or start over?
unnamed = no name yet
cancelled = Cancelled. Nothing was created.
nothing-to-cancel = There's nothing to cancel. What would you like to do?
destination-saved = Saved. From now on, your money goes to <code>{ $destination }</code>.
refused =
    ⚠ The payment service didn't accept this: { $message }
    Please change it, then tap Create again.
settings =
    <b>Settings</b>
    Your money goes to <code>{ $destination }</code>.
settings-none =
    <b>Settings</b>
    You haven't set a payout address yet.
count =
    { $count ->
        [one] { $count } item
       *[other] { $count } items
    }

## The form, step by step

problem-control = ⚠ That contains a character I can't display. Please type it again.
problem-name-empty = ⚠ It needs a name, like <i>Coffee for the team</i>.
problem-name-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
problem-description-empty = ⚠ I couldn't find any text in that. Please type a sentence.
problem-description-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
problem-destination-account = ⚠ A handle or wallet address can't start with “account:”. Type your own, like <code>$anna</code>.
problem-destination-empty = ⚠ I couldn't find a handle in that. Type one like <code>$anna</code>.
problem-destination-long = ⚠ That's { $length } characters; the limit is { $most }. Is it really a handle or wallet address?
problem-destination-spaces = ⚠ A handle or wallet address can't contain spaces or invisible characters. Send just the handle or address, like <code>$anna</code>.
problem-amount = ⚠ I couldn't find an amount. Type a number and a currency, like <code>{ $example }</code>.
problem-amount-notPositive = ⚠ The amount must be more than zero, like <code>{ $example }</code>.
problem-amount-tooLarge = ⚠ That's too much; the limit is 1,000,000,000. Type a smaller amount, like <code>{ $example }</code>.
problem-amount-decimals =
    { $decimals ->
        [0] ⚠ { $currency } has no decimals. Type a whole amount, like <code>{ $example }</code>.
        [one] ⚠ { $currency } has at most { $decimals } decimal. Type an amount with fewer, like <code>{ $example }</code>.
       *[other] ⚠ { $currency } has at most { $decimals } decimals. Type an amount with fewer, like <code>{ $example }</code>.
    }
problem-currency = ⚠ I don't recognise “{ $typed }”. Use a currency code, like USD.
problem-units = ⚠ Please type a whole number of items, 1 or more, like <code>100</code>.
problem-units-many = ⚠ The limit is { $most } items. Type a smaller number, like <code>100</code>.
problem-press = Please tap one of the buttons below.

## What was wrong with an answer, and how to put it right

line-no-amount = ⚠ The amount is missing.
line-no-currency = ⚠ The currency is missing. Type its code right after the amount, like <code>USD</code>.
line-no-units = ⚠ The number of items is missing.
line-two-currencies = ⚠ Is it { $one } or { $other }? Use only one currency.
line-form-donation =
    Type the amount (without spaces), the currency and the name:
    <code>/donation 5 USD Coffee for the team</code>
line-form-oneoff =
    Type the amount (without spaces), the currency and the name:
    <code>/oneoff 120 EUR Painting "Dawn"</code>
line-form-drop =
    Type the number of items, the amount (without spaces), the currency and the name:
    <code>/drop 100 2.50 USD Sticker pack</code>

## The one-line forms

toast-finished = This form is closed. Use /new to start another.
toast-unknown = This button no longer works here. Use /new to make a payment link.
toast-changed = The form has changed since then. Please check it again.
toast-creating = Creating…

## Short answers to a press (200 characters)

card-name = <b>{ $name }</b>
card-facts = { $kind } · <b>{ $amount }</b>
card-paid =
    { $paid ->
        [0] No payments yet
        [one] { $paid } payment
       *[other] { $paid } payments
    }
card-reserved =
    { $reserved ->
        [one] { $reserved } payment in progress
       *[other] { $reserved } payments in progress
    }
left = { $left } left
left-of = { $left } of { $total } left
status-active = 🟢 Active
status-active-left = 🟢 { $left }
status-active-oneoff = 🟢 Active: closes once it's paid
status-scheduled = 🕒 Scheduled: not open yet
status-expired = ⌛ Expired: can't be paid any more
status-stopped = ⏸ Paused: can't be paid until you resume it
status-completed = ✅ Paid and closed
status-soldOut = 🏁 <b>SOLD OUT</b>
status-sold-out-of =
    🏁 <b>SOLD OUT</b>: { $total ->
        [one] the only one sold
       *[other] all { $total } sold
    }
public-closed = This can't be paid right now.
delete-question =
    <b>Delete “{ $name }”?</b>
    Its link, QR code, posters and the cards shared in other chats will stop working for good, and it will disappear from your list. This can't be undone.
    You keep any money you've received, and its payments stay on record.
delete-paid =
    { $paid ->
        [one] The payment already made isn't affected.
       *[other] The { $paid } payments already made aren't affected.
    }

## A payment link's card

list =
    <b>Your payment links</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(page { $page } of { $pages })
    }
    Tap one to see, share or edit it.
list-empty =
    <b>You don't have any payment links yet.</b>
    Use /new to make your first one. It takes about a minute.
list-pending = ⏳ <b>{ $name }</b> is still being created. I'll let you know as soon as it's ready.
list-line = { $mark } { $name } · { $price }
mark-active = 🟢
mark-scheduled = 🕒
mark-expired = ⌛
mark-stopped = ⏸
mark-completed = ✅
mark-soldOut = 🏁

## The list

alert = 💰 <b>{ $amount }</b> received for <b>{ $name }</b>
alert-payer = { $label }: { $value }
alert-sold-out = 🏁 <b>SOLD OUT</b>: that was the last one.
alert-several = { $head }: { $count } payments
alert-several-alike = { $head }: { $count } payments of { $each }
alert-oversold =
    { $count ->
        [one] ⚠️ <b>OVERSOLD</b>: this payment arrived when you didn't have enough left. Please refund it.
       *[other] { $oversold ->
            [one] ⚠️ <b>OVERSOLD</b>: { $oversold } of these payments arrived when you didn't have enough left. Please refund it.
           *[other] ⚠️ <b>OVERSOLD</b>: { $oversold } of these payments arrived when you didn't have enough left. Please refund them.
        }
    }
alert-other-amount =
    { $count ->
        [one] ⚠️ The payment service says { $named } was paid, but the price is { $price }.
       *[other] ⚠️ According to the payment service, { $other } of these payments didn't match the price of { $price }.
    }
alert-odd-amount =
    { $count ->
        [one] ⚠️ The payment service reported an amount that can't be right: { $named }. I've shown the price instead. Please check this payment there.
       *[other] ⚠️ For { $other } of these payments, the payment service reported an amount that can't be right. I've counted the price instead. Please check them there.
    }
alert-found =
    { $count ->
        [one] 🔎 Found later: I wasn't notified of this payment at the time.
       *[other] 🔎 Found later: I wasn't notified of { $found } of these payments at the time.
    }
digest = <b>{ $count } payments</b>
possibly-repeated = <i>You may have seen this already.</i>
payer-paymail = Paymail
payer-email = Email
payer-phoneNumber = Phone
