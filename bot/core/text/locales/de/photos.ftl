# What a photo that a seller sent is refused for; the keys are PictureError's reasons.

photo-unknownFormat = ⚠ Das kann ich nicht als Foto öffnen. Bitte schick ein Foto oder eine Datei als JPEG, PNG oder WebP.
photo-tooLarge = ⚠ Dieses Foto ist zu groß. Möglich sind bis zu 10 MB und 25 Megapixel (als JPEG 50, als WebP 12). Bitte schick ein kleineres.
photo-tooSmall = ⚠ Dieses Foto ist zu klein. Jede Seite braucht mindestens 64 Pixel. Bitte schick ein größeres.
photo-tooLong = ⚠ Dieses Foto ist zu lang und schmal. Bitte schneide es zu und schick es noch einmal.
photo-tooHeavy = ⚠ Dieses Foto zu öffnen braucht zu viel Speicher oder Zeit. Bitte speichere es als gewöhnliches JPEG und schick das.
photo-damaged = ⚠ Dieses Foto ist beschädigt. Bitte schick es noch einmal oder nimm ein anderes.
photo-unreachable = ⚠ Ich konnte dieses Foto nicht von Telegram laden. Bitte schick es in einer Minute noch einmal.
toast-photo-coming = Dein Foto ist noch unterwegs. Tippe gleich noch einmal auf Erstellen.
