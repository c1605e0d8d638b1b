# The options of a new request, the forms of an edit and of the settings.
# HTML and values as in chat.ftl; option-, button- and what stands on buttons is plain text.

## More options

button-options = ⚙ More options
button-done = ✅ Done
button-remove = 🗑 Remove
button-off = Switch off
button-make-price = Make the price { $amount }
option-name = Name
option-amount = Price
option-units = Pieces
option-description = Description
option-picture = Picture
option-picture-set = there
option-instrument = Other currency
option-receivers = Several receivers
option-starts = Starts
option-ends = Ends
option-asks = Ask the payer
option-redirect = After payment
option-email = E-mail notice
option-set = { $option }: { $value }
ask-options =
    <b>What else?</b>
    Everything here can be left as it is. Press Done to see the whole request.
understood = 👍 { $line }

## What an option asks

ask-picture =
    <b>Send a photo of it.</b>
    Payers see it on the pay page and wherever you share the request. A JPEG, PNG or WebP file is fine, too.
ask-instrument =
    <b>In which currency is it paid?</b>
    The price stays in { $currency } and is converted when somebody pays. Choose below, or write a code such as <code>BSV</code>.
ask-receivers =
    <b>Who shares each payment of { $price }?</b>
    One receiver a line: with a percentage, an amount or what the others leave.
    <code>$anna 60%</code>
    <code>$ben 40%</code>
    Or <code>$anna 1.50</code> and <code>$ben rest</code>. Only names share it equally.
ask-starts =
    <b>When does it open?</b>
    Before that nobody can pay. For example <code>tomorrow 18:00</code>, <code>in 2 h</code> or <code>31 Dec</code>.
ask-ends =
    <b>When does it end?</b>
    After that nobody can pay. For example <code>tomorrow 18:00</code>, <code>in 3 days</code> or <code>31 Dec</code>.
ask-end =
    <b>When does it end from now on?</b>
    For example <code>tomorrow 18:00</code>, <code>in 3 days</code> or <code>31 Dec</code>.
ask-asks =
    <b>What do payers have to tell you?</b>
    They are asked before they pay, and you read it with each payment. Press what you need.
ask-redirect =
    <b>Where do payers go after paying?</b>
    Write a whole address, for example <code>https://example.org/thanks</code>.
ask-email =
    <b>Who gets an e-mail about each payment?</b>
    Write an address, for example <code>anna@example.org</code>. I tell you here in any case.
ask-which-moment =
    <b>Which time do you mean?</b>
    It can be read in more than one way. Choose below, or write it anew.

## The review

review-instrument = Paid in: <b>{ $value }</b>
review-picture = Picture: there
review-receivers = Each payment is shared:
review-receiver = • <code>{ $destination }</code> { $share }
review-receivers-more = • and { $count } more
review-starts = Opens: { $value }
review-ends = Ends: { $value }
review-asks = Payers are asked for: { $value }
review-redirect = After payment: { $value }
review-email = E-mail about payments: { $value }
paid-in-price = It is paid in the currency of its price.
picture-set = 👍 The picture is set.

## Settings

button-zone = 🕒 Time zone
button-quiet = 🌙 Quiet hours
button-summary = 📊 Daily summary
settings-zone = Your time zone: { $value }
settings-quiet = Quiet hours: { $value }
settings-summary = Daily summary: { $value }
ask-zone =
    <b>Which time zone are you in?</b>
    Then I read and say times as your clock does. Choose below, or write a large city near you, such as <code>Berlin</code>.
ask-which-zone =
    <b>Which of these is it?</b>
    Several fit. Choose below, or write a city.
ask-quiet =
    <b>When should I be quiet?</b>
    Messages come then, too, but without a sound. For example <code>22:00-7:00</code>.
ask-summary =
    <b>When should the daily summary come?</b>
    It says what came in during the last 24 hours. For example <code>20:00</code>.
zone-saved = Saved. Your time zone is { $zone }.
quiet-saved = Saved. Your quiet hours are { $hours }: then I make no sound.
quiet-off = Saved. There are no quiet hours any more.
summary-saved = Saved. The summary comes every day at { $time }.
summary-off = Saved. There is no daily summary any more.

## An edit

ask-units-out =
    <b>How many pieces do you take out?</b>
    They can't be bought any more. Write a whole number, for example <code>5</code>.
ask-postertext =
    <b>What should the poster say?</b>
    Your own words, up to 300 characters, for example <i>Open daily from 9 to 18</i>.
cancelled-edit = Cancelled: nothing was changed.
resume-short = You have left a question open. Answer it now?

## What was wrong with an answer

problem-receivers-few = ⚠ I read one receiver there. Write two at least, one a line, for example <code>$anna 60%</code> and <code>$ben 40%</code>. /settings changes where all your money goes.
problem-receivers-many = ⚠ That is { $count } receivers; { $most } are possible. Please leave some out.
problem-receivers-unclear = ⚠ “{ $typed }” can be read in more than one way. Write it without grouping, for example <code>1000</code> or <code>1.50</code>.
problem-receivers-currency = ⚠ The price is in { $currency }, so the shares are, too. Write them in { $currency }, or as percentages.
problem-receivers-percent = ⚠ “{ $typed }” is no share. Write more than 0 and up to 100 per cent, with four decimals at most, for example <code>33.3%</code>.
problem-receivers-twice = ⚠ <code>{ $destination }</code> is there twice. Write each receiver once.
problem-receivers-mixed = ⚠ Some have a percentage, some an amount or nothing. Write all in one way; one may get the <code>rest</code>.
problem-receivers-rests = ⚠ Only one can get the rest. Write a percentage or an amount for the others.
problem-receivers-nothing = ⚠ For <code>{ $destination }</code> nothing would be left of this price. Write a larger share, or raise the price.
problem-receivers-whole = ⚠ The percentages come to { $percent }. They must make 100, or less where one gets the <code>rest</code>.
problem-receivers-sum = ⚠ These amounts come to { $amount }, but the price is { $price }. Write them anew, or change the price.
problem-receivers-rest = ⚠ The amounts leave nothing of the price for the rest. Write smaller ones.
problem-receivers-decimals = ⚠ { $currency } can't be divided so finely. Write the amounts anew.
problem-redirect = ⚠ I can't send anybody there. Write a whole address without spaces, for example <code>https://example.org/thanks</code>.
problem-redirect-long = ⚠ That address has { $length } characters; { $most } are possible. Please use a shorter one.
problem-email = ⚠ That is no e-mail address. Write one such as <code>anna@example.org</code>.
email-unavailable = It sends no e-mail.
problem-units-left =
    { $left ->
        [one] ⚠ Only { $left } piece is left. Write a smaller number.
       *[other] ⚠ Only { $left } pieces are left. Write a smaller number.
    }
problem-picture = ⚠ I need a picture here. Send a photo, or go back.
problem-postertext-empty = ⚠ I see no text in that. Write a few words for the poster.
problem-postertext-long = ⚠ That has { $length } characters; { $most } are possible. Please shorten it.
problem-starts-late = ⚠ It would open when it has ended already. Write an earlier time, or change the end first.
problem-ends-early = ⚠ It would end before it opens. Write a later time.
