# What buyers get after they have paid: a message, a file or codes; and codes that are added later.
# HTML and values as in chat.ftl; option-, button-, toast- and goods-brief- are plain text.

## Setting it up

option-goods = What buyers get
button-edit-goods = What buyers get
ask-goods =
    <b>What does the buyer get after paying?</b>
    Send it to me: a message (links are fine), a photo or any file up to 20 MB, or codes, one per line, typed or as a .txt or .csv file. Buyers will find it on their receipt, and nobody else will see it. If you send codes, each item comes with its own.

    <i>Telegram's rule: digital goods sold inside Telegram have to be paid for in Telegram Stars, which I don't take. So share payment links for downloads and codes only outside Telegram, for example on your website. Tickets to real events and things you ship are fine anywhere.</i>
ask-goods-earlier =
    { $kind ->
        [codes] Buyers who already have a code keep it; anyone who is still waiting will get what you send now.
        [none] Only people who pay from now on will get it.
       *[other] A new message or file replaces this one on the receipts of everyone who has it already. If you send codes or remove it, they keep what they have.
    }
ask-which-goods =
    <b>How should buyers get this?</b>
    { $count ->
        [one] I found { $count } line that could be a code. I can give it to one buyer, or show all of it to everyone.
       *[other] I found { $count } lines that could be codes. I can give out one per item, or show all of it to everyone.
    }
ask-long-goods =
    <b>Are these codes?</b>
    { $count ->
        [one] I found { $count } line that could be a code, and can give it to one buyer.
       *[other] I found { $count } lines that could be codes, and can give out one per item.
    } It's too long for a message to everyone: the limit is { $most } characters. If it's a text, send it as a file, or shorten it.
ask-whole-goods =
    <b>Should every buyer get this file?</b>
    I couldn't find a list of codes in it. Everyone who pays would get the whole file.
ask-file =
    <b>Do buyers get this file?</b>
    You sent <code>{ $name }</code>. If it's what you're selling, everyone who pays can download it from their receipt. If not, buyers get just their receipt.

    <i>Telegram's rule: digital goods sold inside Telegram have to be paid for in Telegram Stars. Share links for downloads only outside Telegram.</i>
ask-file-album = It's one of several files you sent together, and a payment link can have only one. To sell all of them, pack them into a .zip.
button-file-yes = ✅ Yes, buyers get it
button-file-no = No
button-file-photo = 🖼 No, it's the photo
file-later = 📎 I have your file, and I'll ask about it before you create the link.
file-unused = 📎 I can't use what you sent here, so I've left it out.
file-unused-line = 📎 I haven't used your photo or file. Please send it again with the corrected line.
file-unused-command = 📎 I haven't used the photo or file you sent: this command doesn't take one.
file-unused-service = 📎 I haven't used your file: at this payment service, buyers can't get one.
file-first = I'm not sure what that's for. Send it with a line like <code>/oneoff 9 EUR E-book</code> as its caption, or tap <b>New payment link</b> first.
caption-unused = 📎 I've taken that, but not its caption.
button-goods-codes = Codes, one per line
button-goods-text = One text for everyone
button-goods-file = One file for everyone
button-goods-again = Send something else
goods-fetching = ⏳ Getting your file…
goods-late = Your file came in after you'd moved on, so I haven't used it. To use it, open “What buyers get” and send it again.
goods-no-caption = The caption isn't part of it: buyers will get only the file. Put the words in the thank-you message or the description.
goods-joined = I've added this to what you sent before. If you want to replace it, tap “Send something else” first.
goods-doubled =
    { $count ->
        [one] This code was there more than once, and I'll use it only once: { $codes }
       *[other] { $count } codes were there more than once, and I'll use each only once: { $codes }
    }
toast-elsewhere = The payment service behind this bot doesn't offer that.

## The review and the edit

goods-brief-text = a message
goods-file = { $name }, { $size }
goods-codes =
    { $count ->
        [one] { $count } code
       *[other] { $count } codes
    }
goods-codes-fits =
    { $count ->
        [one] { $count } code for { $pieces } item: fits
       *[other] { $count } codes for { $pieces } items: fits
    }
goods-codes-few =
    { $count ->
        [one] { $count } code for { $pieces } items: you'll need { $off } more
       *[other] { $count } codes for { $pieces } items: you'll need { $off } more
    }
goods-codes-many =
    { $pieces ->
        [one] { $count } codes for { $pieces } item: { $off } to spare
       *[other] { $count } codes for { $pieces } items: { $off } to spare
    }
goods-ends = First code: <code>{ $first }</code>, last code: <code>{ $last }</code>
review-goods = Buyers get: { $value }
saved-goods = Buyers now get: { $value }
cleared-goods = Buyers now get just their receipt.
goods-awaited = ⚠ Buyers of <b>{ $name }</b> are still waiting for codes, so I haven't removed anything. Send codes, a message or a file for them first.
goods-service-down = The payment service isn't responding. I'll keep trying to change what buyers of <b>{ $name }</b> get, and let you know.
goods-not-copied = I haven't copied what buyers get, because codes and files belong to one payment link. You can set it again under “More options”.

## Problems

problem-goods-nothing = ⚠ I couldn't find anything in that. Send a message, a file or codes.
problem-goods-empty = ⚠ I couldn't find any codes in that. Send them one per line.
problem-goods-long = ⚠ That's { $length } characters; the limit is { $most }. Shorten it, or send it as a file.
problem-goods-code-long = ⚠ Line { $line } has { $length } characters; a code can have up to { $most }. Is there just one code per line?
problem-goods-code-control = ⚠ Line { $line } has characters that can't be displayed. Send the codes as plain text, one per line.
problem-goods-many = ⚠ That's { $count } codes; the limit is { $most } per payment link. Send fewer.
problem-goods-typed = ⚠ That's { $count } codes, too many to type. Send all of them in one .txt file, one per line.
problem-goods-csv = ⚠ I couldn't read that .csv file. Send the codes as a .txt file, one per line.
problem-goods-columns = ⚠ That file has more than one column, and I can't tell which one has the codes. Send just the codes, one per line.
problem-goods-no-text = ⚠ I couldn't read that file as text. Save it as UTF-8, one code per line, and send it again.
problem-goods-no-list = ⚠ That isn't a list of codes. Send them one per line, or as a .txt or .csv file.
problem-goods-album = ⚠ That's one of several files sent together. Send a single file. If there are several, pack them into a .zip.
problem-goods-too-large = ⚠ That file is larger than 20 MB, which is all that Telegram lets me fetch. Send a smaller one, or a message with a link to it.
problem-goods-unreachable = ⚠ I couldn't get that file. Please send it again.
problem-goods-full = ⚠ I have no room for that file at the moment. Send a message with a link to it instead.
problem-goods-refused = ⚠ I couldn't save that file. Please send it again, or choose another one.

## Codes that are added later

button-send-codes = 🔑 Send codes
ask-codes =
    <b>Send me more codes.</b>
    One per line, typed or, if they don't fit in one message, as a .txt or .csv file. Buyers who are waiting will get theirs right away.
codes-adding =
    { $count ->
        [one] ⏳ Adding { $count } code…
       *[other] ⏳ Adding { $count } codes…
    }
codes-added =
    { $count ->
        [one] ✅ <b>{ $name }</b>: { $count } code added.
       *[other] ✅ <b>{ $name }</b>: { $count } codes added.
    }
codes-known = <b>{ $name }</b> already had all of these codes, so I added none.
codes-stored = ✅ <b>{ $name }</b>: your codes are saved.
codes-enough = Everyone who has paid has their code.
codes-still-waiting =
    { $count ->
        [one] { $count } buyer is still waiting for a code.
       *[other] { $count } codes are still missing.
    }
codes-left = Codes left: { $left } of { $total }
codes-waiting =
    { $count ->
        [one] { $count } buyer is waiting for a code
       *[other] { $count } codes are missing
    }
codes-service-down = The payment service isn't responding. I'll keep trying to add your codes to <b>{ $name }</b>, and let you know.
codes-given-up = ⚠ I couldn't add your codes to <b>{ $name }</b>. Please send them again: codes it already has aren't added twice.
toast-no-codes = This payment link doesn't hand out codes.
