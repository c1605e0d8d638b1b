# The conversation, the cards, the alerts. HTML as Telegram has it: b, i, code, a.
# Button labels, toasts and what begins with command- or bot- are plain text.
# Values come escaped. A number passed as a number is grouped and takes part in plurals.

## Telegram's profile and menu of commands

bot-description =
    Get paid in Telegram. Tell me what you offer and what it costs: I give you a pay link with a QR code to share anywhere, and tell you the moment somebody pays.

    Donations, one-off sales and limited drops. Press Start to make your first one.
bot-short-description = Make a payment link in a minute, share it anywhere, see each payment at once.
command-new = Make a payment request, step by step
command-list = Your requests
command-donation = In one line: 5 USD Coffee for the team
command-oneoff = In one line: 120 EUR Painting "Dawn"
command-drop = In one line: 100 2.50 USD Sticker pack
command-settings = Where your money is sent, time zone, quiet hours
command-help = How it all works
command-cancel = Leave the form you are in
command-privacy = What I store about you
command-paysupport = Help with a payment
command-start = Say hello

## Greeting and help

start =
    <b>Hello!</b> I make payment links for you.
    Tell me what you offer and the price, share the link or its QR code, and I tell you here as soon as somebody pays.

    Press <b>New request</b> to make your first one.
digital-goods =
    <i>Good to know: Telegram asks that digital goods and services be sold for Telegram Stars. Use me for donations, physical goods and services in the real world.</i>
help =
    <b>What I make</b>
    • <b>Donation</b>: a link that can be paid again and again.
    • <b>One-off</b>: for a single item. It closes once it is paid.
    • <b>Limited drop</b>: a number of pieces. It closes when the last is sold.

    <b>Step by step</b>
    /new asks you for everything. /cancel leaves.

    <b>In one line</b>
    <code>/donation 5 USD Coffee for the team</code>
    <code>/oneoff 120 EUR Painting "Dawn"</code>
    <code>/drop 100 2.50 USD Sticker pack</code>

    <b>Afterwards</b>
    /list shows your requests. On the card of each are its buttons: share it, print a poster, look up payments, edit it, choose its alerts, stop or delete it.
    <b>Share</b> posts a card in any chat, which is kept up to date there. Writing my name in a chat, with an @ before it, lists your requests, too.
    /alerts lists payments that I could not tell you.
    /settings: where your money is sent, your time zone, quiet hours, a daily summary.
    /privacy says what I store, /paysupport helps with a payment.
not-understood = I am not sure what to do with that. Press <b>New request</b> to make one, or see /help.
paysupport =
    <b>Help with a payment</b>
    You paid somebody: first ask the seller who gave you the link, for the goods and any refund come from them. Have the transaction number from your receipt at hand.
    You sell: open the request from /list and press Refresh to see how it stands.
    If that does not help, write to { $operator } and name the transaction number. Telegram's own support can't help with payments made here.
privacy =
    <b>What I store, and why</b>
    • Your Telegram id and language, to know you and to answer in your language.
    • Your destination, to send your money there, and your time zone, hours and last prices, to spare you questions.
    • Your requests with their pictures, and the form you are filling in, to show and run them.
    • Which messages show a request, also in other chats, to keep them up to date.
    • Your messages and presses, until they are dealt with, so that none is lost.
    • Payments to your requests, with what your payers were asked for (such as an e-mail address), to tell you of them.

    <b>Who sees it</b>
    You, and whoever runs this bot and the payment service behind it. Anyone with a link sees that request, and nothing more. Nothing is sold or used for advertising.

    <b>How long</b>
    As long as you use the bot. A form is gone when you finish or cancel it.

    <b>Deletion</b>
    Write to { $operator } and ask: everything about you is then deleted, apart from records of payments that the law makes them keep.

## Buttons

button-new = ➕ New request
button-list = 📋 My requests
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
button-set-destination = Set the destination
button-change-destination = Change the destination
button-open = 🔗 Open
button-copy = 📄 Copy link
button-share = 📣 Share
button-refresh = 🔄 Refresh
button-stop = ⏸ Stop
button-resume = ▶ Resume
button-delete = 🗑 Delete
button-delete-yes = Yes, delete it
button-delete-no = No, keep it
button-previous = ⬅ Previous
button-next = Next ➡
button-show-card = Show the request
button-pay = Pay { $amount }

## The form, step by step

progress = <i>Step { $step } of { $steps }</i>
ask-kind =
    <b>What kind of request is it?</b>
    • <b>Donation</b>: it can be paid again and again.
    • <b>One-off</b>: it closes once it is paid.
    • <b>Limited drop</b>: a number of pieces.
ask-name =
    <b>What is it called?</b>
    Payers see this name. For example: <i>Coffee for the team</i>
ask-description =
    <b>Describe it in a sentence or two</b>, up to 500 characters.
    For example: <i>Strong and warm, from the machine beside the door</i>
ask-amount-donation = <b>How much is one donation?</b>
ask-amount-oneoff = <b>What does it cost?</b>
ask-amount-drop = <b>What does one piece cost?</b>
ask-amount-hint = Write the amount and the currency, for example <code>5 USD</code> or <code>2,50 €</code>.
ask-amount-usual = Type <code>{ $example }</code> for { $meant }, or include another currency, like <code>{ $other }</code>.
ask-which-amount =
    <b>Which amount do you mean?</b>
    It can be read in more than one way. Choose below, or write it anew.
ask-currency =
    <b>In which currency?</b>
    Choose below, or write its code, such as <code>SEK</code>.
ask-units =
    <b>How many pieces are there?</b>
    Write a whole number, for example <code>100</code>.
ask-destination = <b>Where should the money go?</b>
ask-destination-settings = <b>Where should your money go from now on?</b>
review = <b>Please check: is everything right?</b>
review-name = Name: <b>{ $value }</b>
review-kind = Kind: { $value }
review-amount = Amount: <b>{ $value }</b>
review-units = Pieces: <b>{ $value }</b>
review-description = Description: { $value }
review-destination = Money goes to: <code>{ $value }</code>
kind-donation = Donation
kind-oneoff = One-off
kind-drop = Limited drop
resume =
    You have begun a request: <b>{ $name }</b>.
    Continue where you were, or start over?
unnamed = not named yet
cancelled = Cancelled: nothing was created.
nothing-to-cancel = There is nothing to cancel. What would you like to do?
destination-saved = Saved. Your money goes to <code>{ $destination }</code> from now on.
refused =
    ⚠ The payment service did not accept this: { $message }
    Please change it, then create again.
settings =
    <b>Settings</b>
    Your money is sent to <code>{ $destination }</code>.
settings-none =
    <b>Settings</b>
    You have not said yet where your money should be sent.
count =
    { $count ->
        [one] { $count } piece
       *[other] { $count } pieces
    }

## What was wrong with an answer, and how to put it right

problem-control = ⚠ There is a character in it that can't be shown. Please type it anew.
problem-name-empty = ⚠ A name is needed, for example <i>Coffee for the team</i>.
problem-name-long = ⚠ That name has { $length } characters; { $most } are possible. Please shorten it.
problem-description-empty = ⚠ I see no text in that. Please write a sentence.
problem-description-long = ⚠ That has { $length } characters; { $most } are possible. Please shorten it.
problem-destination-empty = ⚠ I see no handle in that. Write one such as <code>$anna</code>.
problem-destination-long = ⚠ That has { $length } characters; { $most } are possible. Is it a handle or wallet identifier?
problem-destination-spaces = ⚠ A handle or wallet identifier has no spaces and no invisible characters. Write only that, for example <code>$anna</code>.
problem-amount = ⚠ I couldn't find an amount. Type a number and a currency, like <code>{ $example }</code>.
problem-amount-notPositive = ⚠ The amount must be more than zero, like <code>{ $example }</code>.
problem-amount-tooLarge = ⚠ That's too much; the limit is 1,000,000,000. Type a smaller amount, like <code>{ $example }</code>.
problem-amount-decimals =
    { $decimals ->
        [0] ⚠ { $currency } has no decimals. Type a whole amount, like <code>{ $example }</code>.
        [one] ⚠ { $currency } has at most { $decimals } decimal. Type an amount with fewer, like <code>{ $example }</code>.
       *[other] ⚠ { $currency } has at most { $decimals } decimals. Type an amount with fewer, like <code>{ $example }</code>.
    }
problem-currency = ⚠ I know no currency in “{ $typed }”. Use its three-letter code, such as USD.
problem-units = ⚠ Please write how many pieces as a whole number, for example <code>100</code>.
problem-units-many = ⚠ { $most } pieces are possible at most. Write a smaller number, for example <code>100</code>.
problem-press = Please press one of the buttons below.

## The one-line forms

line-no-amount = ⚠ The amount is missing.
line-no-currency = ⚠ The currency is missing. It comes right after the amount, as a code such as <code>USD</code>.
line-no-units = ⚠ The number of pieces is missing.
line-two-currencies = ⚠ Is it { $one } or { $other }? Name one currency only.
line-form-donation =
    Write the amount in one word, the currency, the name:
    <code>/donation 5 USD Coffee for the team</code>
line-form-oneoff =
    Write the amount in one word, the currency, the name:
    <code>/oneoff 120 EUR Painting "Dawn"</code>
line-form-drop =
    Write the number of pieces, the amount in one word, the currency, the name:
    <code>/drop 100 2.50 USD Sticker pack</code>

## Short answers to a press (200 characters)

toast-finished = This form is finished. /new starts another.
toast-unknown = This button does nothing here any more. /new starts a request.
toast-changed = The form has changed since then. Please check it once more.
toast-creating = Creating…

## A request's card

card-name = <b>{ $name }</b>
card-facts = { $kind } · <b>{ $amount }</b>
card-paid =
    { $paid ->
        [0] Not paid yet
        [one] Paid once
       *[other] Paid { $paid } times
    }
card-reserved =
    { $reserved ->
        [one] { $reserved } is being paid right now
       *[other] { $reserved } are being paid right now
    }
left = { $left } left
left-of = { $left } of { $total } left
status-active = 🟢 Active
status-active-left = 🟢 { $left }
status-active-oneoff = 🟢 Active: closes once it is paid
status-scheduled = 🕒 Scheduled: not open yet
status-expired = ⌛ Expired: it can't be paid any more
status-stopped = ⏸ Stopped: it can't be paid until you resume it
status-completed = ✅ Paid: closed
status-soldOut = 🏁 <b>SOLD OUT</b>
status-sold-out-of =
    🏁 <b>SOLD OUT</b>: { $total ->
        [one] the only one is sold
       *[other] all { $total } are gone
    }
public-closed = It can't be paid right now.
delete-question =
    <b>Delete “{ $name }”?</b>
    Its link and QR code, its posters and the cards shared in other chats stop working for good, and it leaves your list. This can't be undone.
    Money that has come stays yours, and the payments stay in the records.
delete-paid =
    { $paid ->
        [one] The one payment already made stays paid.
       *[other] The { $paid } payments already made stay paid.
    }

## The list

list =
    <b>Your requests</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(page { $page } of { $pages })
    }
    Press one to see it, share it or change it.
list-empty =
    <b>You have no requests yet.</b>
    /new makes the first one, in about a minute.
list-pending = ⏳ <b>{ $name }</b> is still being made: I tell you as soon as it is ready.
list-line = { $mark } { $name } · { $price }
mark-active = 🟢
mark-scheduled = 🕒
mark-expired = ⌛
mark-stopped = ⏸
mark-completed = ✅
mark-soldOut = 🏁

## A payment's alert

alert = 💰 <b>{ $amount }</b> received for <b>{ $name }</b>
alert-payer = { $label }: { $value }
alert-left = { $left } left
alert-left-of = { $left } of { $total } left
alert-sold-out = 🏁 <b>SOLD OUT</b>: that was the last one.
alert-several = { $head }: { $count } payments
alert-several-alike = { $head }: { $count } payments of { $each }
alert-oversold =
    { $count ->
        [one] ⚠️ <b>OVERSOLD</b>: this money came when nothing was left for it. You owe it back to the payer.
       *[other] ⚠️ <b>OVERSOLD</b>: { $oversold } of them came when nothing was left. You owe that money back.
    }
alert-other-amount =
    { $count ->
        [one] ⚠️ The payment service says { $named } was paid; the price is { $price }.
       *[other] ⚠️ According to the payment service, { $other } of these payments didn't match the price of { $price }.
    }
alert-odd-amount =
    { $count ->
        [one] ⚠️ The payment service reported an amount that can't be right: { $named }. I've shown the price instead; please check this payment there.
       *[other] ⚠️ For { $other } of these payments the payment service reported an amount that can't be right. I've counted the price instead; please check them there.
    }
alert-found =
    { $count ->
        [one] 🔎 Found later: I was not notified of this payment, so I am telling you now.
       *[other] 🔎 Found later: I was not notified of { $found } of them, so I am telling you now.
    }
digest = <b>{ $count } payments</b>
alert-closed = ✅ Paid: closed now.
possibly-repeated = <i>Possibly repeated: I may have told you this already.</i>
payer-paymail = Paymail
payer-email = E-mail
payer-phoneNumber = Phone
