# The seller's profile: what payers see of the person they pay.

## Asked once, after the first link

profile-offer = Payers trust a name. Should your links say they're from <b>{ $name }</b>?
profile-offer-unnamed = Payers trust a name. Should your links say who they're from?
button-profile-use = Use “{ $value }”
button-profile-own = Set up my profile
button-profile-later = Not now
profile-used =
    ✅ Done. Your links now say they're from <b>{ $name }</b>.
    You can add a picture, a contact and more at any time.
profile-declined = No problem. Your profile is in /settings whenever you want it.

## The profile itself

button-profile = 👤 Profile
settings-profile = Payers see you as <b>{ $name }</b>.
profile =
    <b>Your profile</b>
    This is what payers see:
profile-hidden =
    <b>Your profile</b>
    Add a name, and payers will see this too:
profile-none =
    <b>Your profile</b>
    Payers can't see who they're paying yet. Add a name, and your links will show it.
profile-contact = Contact: { $contact }
profile-accent = Colour: { $colour }
profile-picture = Picture added ✓
profile-present = Now: { $value }
profile-saved = ✅ Saved.
profile-removed = ✅ Removed.
button-sellername = Name
button-sellerimage = Picture
button-sellerabout = About
button-sellercontact = Contact
button-selleraccent = Colour
button-profile-see = See it
button-profile-photo = Use my Telegram photo
toast-profile-photo = Getting your photo…

accent-blue = Blue
accent-teal = Teal
accent-green = Green
accent-orange = Orange
accent-red = Red
accent-pink = Pink
accent-purple = Purple
accent-grey = Grey

## Its questions, and what was wrong with an answer

ask-sellername =
    <b>What name should payers see?</b>
    Your own, your shop's or your project's.
ask-sellerimage =
    <b>Send me a picture of you, or your logo.</b>
    I'll crop it to a square.
ask-sellerabout =
    <b>Tell payers about you in one line.</b>
    For example: <i>Sourdough and coffee, baked in Leipzig</i>
ask-sellercontact =
    <b>How can payers reach you?</b>
    Type a username like <code>@anna_bakes</code>, an email address or a link. Anyone who opens your links will see it.
ask-selleraccent =
    <b>Pick a colour.</b>
    Your payment pages and pictures will use it.
problem-sellername-empty = ⚠ Payers couldn't read that. Type a name, like <i>Anna's Bakery</i>.
problem-sellername-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
problem-sellerabout-empty = ⚠ I couldn't find any words in that. Type a short line about you.
problem-sellerabout-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
problem-sellercontact = ⚠ That doesn't look like a contact. Type something like <code>@anna_bakes</code>, <code>anna@example.org</code> or <code>example.org/anna</code>.
problem-sellerimage = ⚠ That isn't a picture. Send me a photo, or tap a button below.
photo-noProfile = ⚠ I can't see your Telegram photo. Either you don't have one, or your privacy settings hide it from bots. Send me a picture instead.

## Where payers read it

review-seller =
    { $kind ->
        [donation] From: <b>{ $value }</b>
       *[other] Sold by: <b>{ $value }</b>
    }
card-seller =
    { $kind ->
        [donation] For { $name }
       *[other] Sold by { $name }
    }
