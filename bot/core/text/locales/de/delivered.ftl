# The receipt: what was bought, and what the seller noted.

page-receipt-through = Die Zahlung ist angekommen.
page-for-you = Ihr Kauf
page-codes =
    { $count ->
        [one] Ihr Code
       *[other] Ihre Codes
    }
page-units = Für Sie: Nr. { $units } von { NUMBER($total) }
page-on-its-way =
    { $count ->
        [one] Ihr Code kommt noch
       *[other] Ihre Codes kommen noch
    }
page-more-on-its-way =
    { $count ->
        [one] Ein weiterer Code kommt noch
       *[other] { $count } weitere Codes kommen noch
    }
page-on-its-way-why =
    { $count ->
        [one] { $seller } muss Ihren Code noch nachreichen. Der Code erscheint dann hier: Speichern Sie diese Seite bitte als Lesezeichen.
       *[other] { $seller } muss Ihre Codes noch nachreichen. Die Codes erscheinen dann hier: Speichern Sie diese Seite bitte als Lesezeichen.
    }
page-download = Herunterladen
page-marked-sent = Verschickt
page-paid-back = Zurückgezahlt
page-paid-back-why = { $seller } hat Ihre Zahlung am { $at } als zurückgezahlt vermerkt. Bis das Geld bei Ihnen ankommt, kann es ein paar Tage dauern.
page-receipt-bookmark = Diese Seite ist Ihr Beleg. Nur über ihre Adresse kommen Sie wieder zu Ihrem Kauf: Speichern Sie sie als Lesezeichen. Wer die Adresse hat, sieht alles auf dieser Seite: Geben Sie sie nicht weiter.
