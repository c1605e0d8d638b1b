# What a photo that a seller sent is refused for; the keys are PictureError's reasons.

photo-unknownFormat = ⚠ I can't read that as a picture. Please send a photo, or a JPEG, PNG or WebP file.
photo-tooLarge = ⚠ That picture is too large: up to 10 MB and 25 megapixels are possible, 50 as a JPEG, 12 as a WebP. Please send a smaller one.
photo-tooSmall = ⚠ That picture is too small to be seen: 64 pixels a side are needed at least. Please send a larger one.
photo-tooLong = ⚠ That picture is too long and narrow. Please crop it and send it again.
photo-tooHeavy = ⚠ That picture takes too much memory or time to open. Please save it as an ordinary JPEG and send that.
photo-damaged = ⚠ That picture is damaged. Please send it again, or another one.
photo-unreachable = ⚠ I could not get that picture from Telegram. Please send it again in a minute.
