# Where sellers get paid: payout accounts, with real money. HTML and values as in chat.ftl.

command-getpaid = Where your money goes
button-payout = 💶 Where you get paid
button-payout-connect = 💶 Connect an account
button-payout-settings = ⚙ Settings
button-payout-later = Later
button-payout-bank = 🏦 Bank transfer
button-payout-lightning = ⚡ Lightning address
button-payout-lnbits = 🧩 My LNbits
button-payout-nwc = 🔗 Wallet connection
button-payout-alby = 🐝 Prepare one in Alby Hub
button-payout-another = ➕ { $kind }
button-payout-account =
    { $kind ->
        [lightning] ⚡
        [lnbits] 🧩
        [nwc] 🔗
       *[bank] { $way }:
    } { $label }
button-payout-replace = ✏ Replace
button-payout-remove-yes = Yes, remove it
button-payout-save = ✅ Save
button-payout-change = ✏ Change

## The pages

payout-test =
    <b>There's nothing to connect here.</b>
    This bot runs on test money: payers can try everything, and nothing is really charged.
payout-elsewhere =
    <b>There's nothing to connect here.</b>
    Your money goes through <b>{ $host }</b>. Your payout address there is in /settings.
payout-page-none =
    <b>Where should your money go?</b>
    Payers pay you directly. I never hold your money.
payout-page =
    <b>Where you get paid</b>
    Payers pay you directly. I never hold your money. If several accounts fit a price, payers can choose; the first one is preselected.
payout-connect = <b>What you can connect</b>
payout-first =
    <b>Where should the money go?</b>
    Payers pay you directly. Connect an account once, and it works for all your payment links.
payout-about-bank = 🏦 <b>Bank transfer</b>: your IBAN, Pix key or UPI ID. Usually free. You confirm each payment with a tap.
payout-about-lightning = ⚡ <b>Lightning address</b>: like <code>anna@example.org</code>, from a Bitcoin wallet. It may charge a fee. Most report payments by themselves.
payout-about-lnbits = 🧩 <b>My LNbits</b>: your server and its invoice key, which can't spend. The server may charge a fee and reports payments automatically.
payout-about-nwc = 🔗 <b>Wallet connection</b>: receive-only, from a wallet like Alby Hub. It may charge a fee and reports payments automatically.
payout-schemes =
    <b>What kind of bank account is it?</b>
    • <b>SEPA</b>: prices in euros. Needs an IBAN.
    • <b>Pix</b>: prices in Brazilian reais. Needs a Pix key.
    • <b>UPI</b>: prices in Indian rupees. Needs a UPI ID.
    • <b>Swiss QR-bill</b>: prices in Swiss francs or euros. Needs a Swiss IBAN and your address.
payout-way-bank-sepa = 🏦 SEPA account
payout-way-bank-pix = 🏦 Pix
payout-way-bank-upi = 🏦 UPI
payout-way-bank-swiss = 🏦 Swiss QR-bill
payout-way-lightning = ⚡ Lightning address
payout-way-lnbits = 🧩 LNbits
payout-way-nwc = 🔗 Wallet connection
payout-line = { $way } <code>{ $label }</code> (you confirm each payment)
payout-line-auto = { $way } <code>{ $label }</code>
payout-account =
    <b>{ $way }</b>
    <code>{ $label }</code>
payout-automatic = ✅ Your wallet reports each payment automatically.
payout-by-hand = 👆 You check your account and confirm each payment with a tap.
payout-by-hand-wallet = 👆 This wallet doesn't report payments. You check it and confirm each one with a tap.
payout-settings =
    <b>Settings</b>
    You get paid here:
payout-settings-none =
    <b>Settings</b>
    Payers can't pay you yet: you haven't connected an account.

## The form

payout-ask-bank-sepa-iban =
    <b>What's your IBAN?</b>
    You'll find it in your banking app. For example: <code>DE89 3704 0044 0532 0130 00</code>
payout-ask-bank-sepa-name =
    <b>Who's the account holder?</b>
    Type the name exactly as your bank writes it. Payers' banks compare it with the IBAN and warn them if it differs.
payout-ask-bank-sepa-bic =
    <b>What's your bank's BIC?</b>
    Payers' banks need it, because your IBAN is from outside the European Economic Area. Look next to the IBAN in your banking app; it's also called the SWIFT code. For example: <code>NWBKGB2L</code>
payout-ask-bank-pix-key =
    <b>What's your Pix key?</b>
    Your CPF, CNPJ, phone number, email address or random key.
payout-ask-bank-pix-name =
    <b>Who's the account holder?</b>
    Type the name as your bank writes it. Payers see it before they pay.
payout-ask-bank-pix-city =
    <b>Which city are you in?</b>
    Pix codes contain it. For example: <code>São Paulo</code>
payout-ask-bank-upi-id =
    <b>What's your UPI ID?</b>
    For example: <code>anna@okbank</code>
payout-ask-bank-upi-name =
    <b>Who's the account holder?</b>
    Type the name as your bank writes it. Payers see it before they pay.
payout-ask-bank-swiss-iban =
    <b>What's your Swiss or Liechtenstein IBAN?</b>
    For example: <code>CH93 0076 2011 6238 5295 7</code>
payout-ask-bank-swiss-name =
    <b>Who's the account holder?</b>
    Type the name exactly as your bank writes it.
payout-ask-bank-swiss-street =
    <b>What's the account holder's street?</b>
    A QR-bill shows the address to payers. The house number comes next.
payout-ask-bank-swiss-houseNumber = <b>What's the house number?</b>
payout-ask-bank-swiss-postalCode = <b>What's the postcode?</b>
payout-ask-bank-swiss-town = <b>Which town is it?</b>
payout-ask-bank-swiss-country =
    <b>Which country is it?</b>
    Choose below, or type its two-letter code, like <code>CH</code>.
payout-ask-lightning-address =
    <b>What's your Lightning address?</b>
    It looks like an email address, and your wallet shows it under “Receive”. For example: <code>anna@example.org</code>
payout-ask-lnbits-url =
    <b>Where's your LNbits?</b>
    Type the address of the server, like <code>https://lnbits.example.org</code>.
payout-ask-lnbits-key =
    <b>What's the invoice key of your wallet?</b>
    Open the wallet in LNbits and look under “Node URL, API keys and API docs” for <b>Invoice/read key</b>. Never give the admin key to anyone: it can spend.
    I'll delete your message once I've read it.
payout-ask-nwc-connection =
    <b>What's your connection string?</b>
    In your wallet, add a connection that can only receive, and paste the text that starts with <code>nostr+walletconnect://</code>.
    Do you use Alby Hub? The button below opens its form, already filled in: confirm it, then copy the text you see.
    I'll delete your message once I've read it.
payout-checking = ⏳ Checking this. It can take half a minute.
payout-saving = ⏳ Saving…
payout-found = <b>This works. Should I save it?</b>
payout-found-replaces = It replaces <code>{ $label }</code>.

## What was wrong with an answer, or with the service

problem-payout-empty = ⚠ I couldn't find any text in that. Please type it again.
problem-payout-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
payout-wrong-missing = ⚠ Something is missing here. Please type it again.
payout-wrong-tooLong = ⚠ That's too long. Please shorten it.
payout-wrong-invisible = ⚠ There are invisible characters in that. Please type it instead of pasting it.
payout-wrong-notLatin = ⚠ Bank codes only take Latin letters. Please use the Latin spelling that your bank uses.
payout-wrong-unknownField = ⚠ The payment service doesn't know one of these details. Please start again with /getpaid.
payout-wrong-unknownScheme = ⚠ The payment service doesn't take this kind of bank account. Please choose another one.
payout-wrong-ibanForm = ⚠ That isn't an IBAN. It starts with two letters and two digits, like <code>DE89 3704 0044 0532 0130 00</code>.
payout-wrong-ibanCountry = ⚠ No country's IBANs start like that. Please compare it with your banking app.
payout-wrong-ibanLength = ⚠ That IBAN is too long or too short for its country. Please compare it with your banking app.
payout-wrong-ibanTypo = ⚠ There's a typo in that IBAN: its check digits don't match. Please compare it with your banking app.
payout-wrong-ibanLetters = ⚠ That IBAN has letters or digits where its country has none. Please compare it with your banking app.
payout-wrong-notSepa = ⚠ Accounts in that country can't receive SEPA transfers. Please use an account that can.
payout-wrong-notSwiss = ⚠ That IBAN isn't from Switzerland or Liechtenstein. It has to start with CH or LI. For other IBANs, go back and choose SEPA.
payout-wrong-qrIban = ⚠ That's a QR-IBAN, which only works on bills with a QR reference. Use the ordinary IBAN of the same account; it's on your bank statements.
payout-wrong-name = ⚠ That's an IBAN. Please type the name of the account holder.
payout-wrong-bicForm = ⚠ That isn't a BIC. It has 8 or 11 letters and digits.
payout-wrong-pixKey = ⚠ That isn't a Pix key. It's a CPF, a CNPJ, a phone number starting with <code>+55</code>, an email address or a random key.
payout-wrong-pixCpf = ⚠ That isn't a CPF: its check digits don't match. If it's a phone number, start it with <code>+55</code>.
payout-wrong-pixEmail = ⚠ That isn't an email address. Type the key as your banking app shows it.
payout-wrong-pixPhone = ⚠ That isn't a Brazilian phone number. Type it like <code>+55 11 98765-4321</code>.
payout-wrong-upiForm = ⚠ That isn't a UPI ID. Type one like <code>anna@okbank</code>.
payout-wrong-countryForm = ⚠ Please type the country's two-letter code, like <code>CH</code>.
payout-wrong-addressForm = ⚠ That isn't a Lightning address. Type one like <code>anna@example.org</code>.
payout-wrong-addressPort = ⚠ A Lightning address has no number after a colon. Please leave it out.
payout-wrong-lnurl = ⚠ That's an LNURL code. I need your Lightning address, like <code>anna@example.org</code>.
payout-wrong-invoice = ⚠ That's an invoice or an offer. I need your Lightning address, like <code>anna@example.org</code>.
payout-wrong-noSuchAddress = ⚠ There's no such Lightning address. Please check the spelling.
payout-wrong-notLnurl = ⚠ That server doesn't answer like a Lightning wallet. Please check the part after the @, or use another wallet.
payout-wrong-wrongInvoice = ⚠ I asked for a small invoice to test this address, and what came back was wrong. Try again later, or use another wallet.
payout-wrong-urlForm = ⚠ That isn't a web address I can use. Type one like <code>https://lnbits.example.org</code>.
payout-wrong-keyForm = ⚠ That isn't an LNbits key. Copy the whole <b>Invoice/read key</b>; it has no spaces.
payout-wrong-unknownKey = ⚠ Your LNbits doesn't know that key. Copy the <b>Invoice/read key</b> of your wallet; you'll find it under “Node URL, API keys and API docs”.
payout-wrong-spendingKey = ⚠ That key can spend your money, so I won't use it. Send me the <b>Invoice/read key</b> instead; it's right below.
payout-wrong-notLnbits = ⚠ There's no LNbits at that address. Please check it.
payout-wrong-lnbitsMoved = ⚠ Your LNbits has moved: it redirects to another address, and I don't send your key there. Open your LNbits in a browser, then send me the address you end up at.
payout-wrong-connectionForm = ⚠ That isn't a complete connection string. Copy all of it from your wallet; it starts with <code>nostr+walletconnect://</code>.
payout-connection-elsewhere = ⚠ That's the key to a wallet, so I won't use it here. To get paid to that wallet, open /getpaid and tap <b>Wallet connection</b>.
payout-wrong-relayPrivate = ⚠ This connection uses a relay that can't be reached from here. Use a wallet with a public relay.
payout-wrong-relayPlain = ⚠ This connection uses a relay without encryption. Use a wallet whose relay address starts with <code>wss://</code>.
payout-wrong-spendingConnection = ⚠ This connection can also spend your money, so I won't use it. Remove it in your wallet and make a new one that can only create and look up invoices. If your wallet can't do that, connect its Lightning address instead.
payout-wrong-receivesNothing = ⚠ This connection can't create and look up invoices. Make a new one in your wallet that can do both, and nothing else.
payout-wrong-rightsUnknown = ⚠ Your wallet doesn't say what this connection can do. Allow it to read the wallet's info (<code>get_info</code>), then try again.
payout-wrong-testNetwork = ⚠ This wallet is on a test network. Connect one that receives real bitcoin.
payout-wrong-connectionEnded = ⚠ Your wallet no longer accepts this connection. Make a new one, and send me that.
payout-wrong-walletSilent = ⚠ Your wallet didn't answer. Check that it's online and still lists this connection, then try again.
payout-wrong-walletBusy = ⚠ Your wallet is busy. Please try again in a minute.
payout-wrong-walletUnreadable = ⚠ Your wallet's answer makes no sense to me. Update the wallet, or use another one.
payout-wrong-walletFailed = ⚠ Your wallet answered with an error. Please try again later.
payout-wrong-hostPrivate = ⚠ That server isn't on the public internet, so I can't reach it. Use one that is, or ask this bot's operator to allow it.
payout-wrong-hostUnknown = ⚠ I can't find that server. Please check the spelling of its address. If it's right, try again later.
payout-wrong-hostUnsafe = ⚠ Your wallet's server has no valid security certificate, so I can't trust it. Only whoever runs it can fix that. You can also use another wallet.
payout-wrong-hostClosed = ⚠ Your wallet's server isn't accepting connections. It may be down: check the address, or try again later.
payout-wrong-hostSilent = ⚠ Your wallet's server didn't answer in time. Please try again later.
payout-wrong-hostBusy = ⚠ Your wallet's server is busy. Please try again in a minute.
payout-wrong-hostBroken = ⚠ Your wallet's server has a problem. Please try again later.
payout-wrong-hostDenies = ⚠ Your wallet's server won't let me in. Check the address, ask whoever runs it, or use another wallet.
payout-wrong-hostMoved = ⚠ Your wallet's server redirects me to an address I can't use. Ask your wallet for your current Lightning address, or use another wallet.
payout-wrong-hostSays = ⚠ That didn't work. { $message }
payout-refused = ⚠ That didn't work: { $message }
payout-waiting = The payment service isn't responding. I'll keep trying for an hour and let you know. You don't need to do anything.
payout-given-up = ⚠ The payment service didn't respond, so nothing was changed. Please try again later.
payout-closed = ⚠ The payment service isn't letting this bot in, so nothing was changed. Only this bot's operator can fix that.

## What changed

payout-saved =
    ✅ <b>Connected.</b> From now on, payers can pay you here:
    { $way } <code>{ $label }</code>
payout-replaced =
    ✅ <b>Changed.</b> From now on, your money goes here:
    { $way } <code>{ $label }</code>
    It used to go to <code>{ $before }</code>. Payments already under way will still arrive there.
payout-not-you = <i>Wasn't this you? Change it back right away, then open Telegram's settings, tap Devices and end all other sessions.</i>
payout-remove =
    <b>Remove this account?</b>
    { $way } <code>{ $label }</code>
payout-remove-links =
    { $count ->
        [0] Your other accounts take all your active payment links.
        [one] { $count } payment link can't be paid until you connect another account.
       *[other] { $count } payment links can't be paid until you connect another account.
    }
payout-remove-kept = Payments already under way will still arrive there.
payout-removing = ⏳ Removing it…
payout-removed =
    ✅ <b>Removed.</b> Payers can no longer pay you here:
    { $way } <code>{ $label }</code>
payout-removed-links =
    { $count ->
        [0] All your active payment links can still be paid.
        [one] { $count } payment link can't be paid until you connect another account.
       *[other] { $count } payment links can't be paid until you connect another account.
    }
toast-payout-gone = You've already removed that.

## Payment links that wait for it

payout-review = You get paid by: { $accounts }
payout-review-none = ⚠ Nobody can pay this until you connect an account: /getpaid
payout-no-way = ⚠ Your account only takes { $taken }, so nobody can pay a price in { $currency }. Connect a Lightning address with /getpaid, which takes { $currency } too, or use a price in { $taken }.
payout-no-way-bank = ⚠ Your account only takes { $taken }, so nobody can pay a price in { $currency }. Use a price in { $taken }, or connect another account with /getpaid.
status-noPayoutAccount = 💶 <b>Can't be paid yet</b>: connect an account that takes this price.
mark-noPayoutAccount = 💶
status-outdated = 🧪 <b>Can't be paid</b>: it was made for test money. Duplicate it to be paid for real.
mark-outdated = 🧪
