# What a photo that a seller sent is refused for; the keys are PictureError's reasons.

photo-unknownFormat = ⚠ Das kann ich nicht als Bild lesen. Bitte schick ein Foto oder eine Datei als JPEG, PNG oder WebP.
photo-tooLarge = ⚠ Dieses Bild ist zu groß: Bis zu 10 MB und 25 Megapixel sind möglich, als JPEG 50, als WebP 12. Bitte schick ein kleineres.
photo-tooSmall = ⚠ Auf diesem Bild ist zu wenig zu sehen: Es braucht mindestens 64 Pixel je Seite. Bitte schick ein größeres.
photo-tooLong = ⚠ Dieses Bild ist zu lang und schmal. Bitte schneide es zu und schick es noch einmal.
photo-tooHeavy = ⚠ Dieses Bild zu öffnen braucht zu viel Speicher oder Zeit. Bitte speichere es als gewöhnliches JPEG und schick das.
photo-damaged = ⚠ Dieses Bild ist beschädigt. Bitte schick es noch einmal oder ein anderes.
photo-unreachable = ⚠ Ich habe dieses Bild nicht von Telegram bekommen. Bitte schick es in einer Minute noch einmal.
