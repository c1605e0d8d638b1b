# The options of a new payment link, the forms of an edit and of the settings.
# HTML and values as in chat.ftl; option-, button- and what stands on buttons is plain text.

## More options

button-options = ⚙ More options
button-done = ✅ Done
button-remove = 🗑 Remove
button-off = Turn off
button-make-price = Set price to { $amount }
option-name = Name
option-amount = Amount
option-units = Quantity
option-description = Description
option-picture = Photo
option-picture-set = added
option-instrument = Payment currency
option-receivers = Split payments
option-starts = Start date
option-ends = End date
option-asks = Payer details
option-redirect = After payment
option-email = Payment emails
option-set = { $option }: { $value }
ask-options =
    <b>Anything else?</b>
    You can leave all of this as it is. Tap Done to review your payment link.
understood = 👍 { $line }

## What an option asks

ask-picture =
    <b>Send a photo of it.</b>
    Payers will see it on the payment page and wherever you share the link. JPEG, PNG and WebP files work too.
ask-instrument =
    <b>Which currency do people pay in?</b>
    The price stays in { $currency } and is converted at the time of payment. Choose below, or type a code, like <code>BSV</code>.
ask-receivers =
    <b>Who shares each payment of { $price }?</b>
    One receiver per line, with a percentage, an amount or “rest”.
    <code>$anna 60%</code>
    <code>$ben 40%</code>
    Or <code>$anna 1.50</code> and <code>$ben rest</code>. List only names to split equally.
ask-starts =
    <b>When does it open?</b>
    Nobody can pay before then. For example: <code>tomorrow 18:00</code>, <code>in 2 h</code> or <code>31 Dec</code>
ask-ends =
    <b>When does it end?</b>
    Nobody can pay after that. For example: <code>tomorrow 18:00</code>, <code>in 3 days</code> or <code>31 Dec</code>
ask-end =
    <b>When should it end?</b>
    For example: <code>tomorrow 18:00</code>, <code>in 3 days</code> or <code>31 Dec</code>
ask-asks =
    <b>What do you need from payers?</b>
    They'll be asked before they pay, and you'll see their answers with each payment. Tap everything you need.
ask-redirect =
    <b>Where should payers go after paying?</b>
    Type a web address, like <code>https://example.org/thanks</code>.
ask-email =
    <b>Who should get an email about each payment?</b>
    Type an address, like <code>anna@example.org</code>. I'll notify you here either way.
ask-which-moment =
    <b>Which time do you mean?</b>
    That can be read in more than one way. Choose below, or type it again.

## The review

review-instrument = Paid in: <b>{ $value }</b>
review-picture = Photo added ✓
review-receivers = Each payment is split:
review-receiver = • <code>{ $destination }</code> { $share }
review-receivers-more = • and { $count } more
review-starts = Opens: { $value }
review-ends = Ends: { $value }
review-asks = Payers are asked for: { $value }
review-redirect = After payment: { $value }
redirect-receipt-first = Payers see their receipt first, with a button that takes them to your web address.
review-email = Payment emails go to: { $value }
paid-in-price = People pay in the same currency as the price.
picture-set = 👍 Photo added.

## Settings

button-zone = 🕒 Time zone
button-quiet = 🌙 Quiet hours
button-summary = 📊 Daily summary
settings-zone = Time zone: { $value }
settings-quiet = Quiet hours: { $value }
settings-summary = Daily summary: { $value }
ask-zone =
    <b>Which time zone are you in?</b>
    So times match your clock. Choose below, or type a big city near you, like <code>Berlin</code>.
ask-which-zone =
    <b>Which one do you mean?</b>
    There's more than one match. Choose below, or type a city.
ask-quiet =
    <b>When should I be quiet?</b>
    Messages still arrive, silently. For example: <code>22:00-7:00</code>
ask-summary =
    <b>When should I send the daily summary?</b>
    It shows what came in over the last 24 hours. For example: <code>20:00</code>
zone-saved = Saved. Your time zone is { $zone }.
quiet-saved = Saved. During your quiet hours, { $hours }, messages arrive silently.
quiet-off = Saved. Quiet hours are off.
summary-saved = Saved. You'll get the summary every day at { $time }.
summary-off = Saved. The daily summary is off.

## An edit

ask-units-out =
    <b>How many items do you want to remove?</b>
    They'll no longer be for sale. Type a whole number, like <code>5</code>.
ask-postertext =
    <b>What should the poster say?</b>
    Your own words, up to 300 characters, like <i>Open daily from 9 to 6</i>.
cancelled-edit = Cancelled. Nothing was changed.
resume-short = You left a question unanswered. Answer it now?

## What was wrong with an answer

problem-receivers-few = ⚠ I found only one receiver. Type at least two, one per line, like <code>$anna 60%</code> and <code>$ben 40%</code>. To change where all your money goes, use /settings.
problem-receivers-many = ⚠ That's { $count } receivers; the limit is { $most }. Please leave some out.
problem-receivers-unclear = ⚠ “{ $typed }” can be read in more than one way. Type it without thousands separators, like <code>1000</code> or <code>1.50</code>.
problem-receivers-currency = ⚠ The price is in { $currency }, so the shares must be too. Type them in { $currency } or as percentages.
problem-receivers-percent = ⚠ “{ $typed }” isn't a valid share. Type a percentage above 0 and up to 100, with at most four decimals, like <code>33.3%</code>.
problem-receivers-twice = ⚠ <code>{ $destination }</code> is listed twice. List each receiver once.
problem-receivers-mixed = ⚠ Some receivers have a percentage, others an amount or nothing. Use the same for all of them. One can still get the <code>rest</code>.
problem-receivers-rests = ⚠ Only one receiver can get the rest. Type a percentage or an amount for the others.
problem-receivers-nothing = ⚠ <code>{ $destination }</code> would get nothing at this price. Type a larger share, or raise the price.
problem-receivers-whole = ⚠ The percentages add up to { $percent }%. They must add up to 100%. Use “rest” for the remainder.
problem-receivers-sum = ⚠ These amounts add up to { $amount }, but the price is { $price }. Type them again, or change the price.
problem-receivers-rest = ⚠ These amounts leave nothing for the rest. Type smaller ones.
problem-receivers-decimals = ⚠ { $currency } doesn't have that many decimals. Type the amounts with fewer.
problem-redirect = ⚠ That isn't a web address I can use. Type one without spaces, like <code>https://example.org/thanks</code>.
problem-redirect-long = ⚠ That's { $length } characters; the limit is { $most }. Please use a shorter address.
problem-email = ⚠ That isn't an email address. Type one like <code>anna@example.org</code>.
email-unavailable = It doesn't send emails.
problem-units-left =
    { $left ->
        [one] ⚠ Only { $left } item is left. Type a smaller number.
       *[other] ⚠ Only { $left } items are left. Type a smaller number.
    }
problem-picture = ⚠ I need a photo here. Send one, or go back.
problem-postertext-empty = ⚠ I couldn't find any text in that. Type a few words for the poster.
problem-postertext-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
problem-starts-late = ⚠ It would open after it ends. Type an earlier time, or change the end date first.
problem-ends-early = ⚠ It would end before it opens. Type a later time.
