# What a photo that a seller sent is refused for; the keys are PictureError's reasons.

photo-unknownFormat = ⚠ I can't open that as a photo. Please send a photo, or a JPEG, PNG or WebP file.
photo-tooLarge = ⚠ That photo is too large. The limit is 10 MB and 25 megapixels (50 for JPEG, 12 for WebP). Please send a smaller one.
photo-tooSmall = ⚠ That photo is too small. Each side needs at least 64 pixels. Please send a larger one.
photo-tooLong = ⚠ That photo is too long and narrow. Please crop it and send it again.
photo-tooHeavy = ⚠ That photo takes too much memory or time to open. Please save it as a regular JPEG and send that.
photo-damaged = ⚠ That photo is damaged. Please send it again, or send another one.
photo-unreachable = ⚠ I couldn't download that photo from Telegram. Please send it again in a minute.
toast-photo-coming = Your photo is still on its way. Tap Create again in a moment.
