# E-mails to sellers about payments, the one that asks for a confirmation, and payers' receipts.

mail-subject = { $amount } für { $name }
mail-subject-oversold = { $amount } für { $name }: bitte erstatten
mail-heading = { $amount } erhalten
mail-oversold = Diese Zahlung kam, als nicht mehr genug da war. Bitte erstatten Sie sie.
mail-oversold-few = Diese Zahlung war für { NUMBER($quantity) } Stück, aber es { $left ->
    [one] war nur noch eins
   *[other] waren nur noch { NUMBER($left) }
} da. Bitte erstatten Sie sie.
mail-subject-underpaid = { $name }: nur { $paid } von { $amount } eingegangen
mail-heading-underpaid = Nur { $paid } von { $amount } eingegangen
mail-underpaid = Das ist weniger als der Preis und zählt deshalb nicht als Verkauf. Bitte schicken Sie es zurück und bitten Sie um den vollen Betrag.
mail-brief-underpaid = nur { $paid } von { $amount }
mail-subject-claim = { $name }: Sind { $amount } angekommen?
mail-heading-claim = Sind { $amount } angekommen?
mail-claim = Jemand hat gemeldet, dass dieses Geld unterwegs ist. Bitte sehen Sie auf Ihrem Konto nach und bestätigen Sie die Zahlung dort, wo Sie den Zahlungslink erstellt haben, oder lehnen Sie sie dort ab. Als Verkauf zählt sie erst, wenn Sie sie bestätigen.
mail-brief-claim = { $amount }, noch nicht bestätigt
mail-claimed = Gemeldet
mail-answer-by = Bitte antworten bis

mail-product = Für
mail-payer-name = Von
mail-message = Nachricht
mail-left = Übrig
mail-left-units =
    { $left ->
        [0] 0, ausverkauft
       *[other] { NUMBER($left) }
    }
mail-left-reserved =
    { NUMBER($left) }, dazu { $reserved ->
        [one] { $reserved }, das gerade bezahlt wird
       *[other] { NUMBER($reserved) }, die gerade bezahlt werden
    }
mail-codes-waiting =
    { $count ->
        [one] Für ein verkauftes Stück fehlt noch der Code. Bitte fügen Sie einen hinzu.
       *[other] Für { NUMBER($count) } verkaufte Stück fehlen noch Codes. Bitte fügen Sie welche hinzu.
    }
mail-why = Sie bekommen diese E-Mail, weil ein Zahlungslink Zahlungen an diese Adresse meldet.
mail-stop = Diese E-Mails abbestellen

# Several payments in one letter.

mail-many =
    { $count ->
        [one] { $count } Zahlung eingegangen
       *[other] { NUMBER($count) } Zahlungen eingegangen
    }
mail-many-claimed =
    { $count ->
        [one] { $count } Zahlung zu bestätigen
       *[other] { NUMBER($count) } Zahlungen zu bestätigen
    }
mail-many-total = { $rest ->
    [0] Summe: { $total }
   *[other] Summe: { $total }. Hier sind die neuesten Zahlungen; { NUMBER($rest) } weitere gingen ihnen voraus.
}
mail-many-claims = { $count ->
    [one] Bei einer Zahlung wurde gemeldet, dass das Geld unterwegs ist. Bitte sehen Sie auf Ihrem Konto nach und bestätigen Sie die Zahlung dort, wo Sie den Zahlungslink erstellt haben, oder lehnen Sie sie dort ab.
   *[other] Bei { NUMBER($count) } Zahlungen wurde gemeldet, dass das Geld unterwegs ist. Bitte sehen Sie auf Ihrem Konto nach und bestätigen Sie jede Zahlung dort, wo Sie den Zahlungslink erstellt haben, oder lehnen Sie sie dort ab.
}
mail-many-oversold = { $count ->
    [one] Eine Zahlung kam, als nicht mehr genug da war. Bitte erstatten Sie sie.
   *[other] { NUMBER($count) } Zahlungen kamen, als nicht mehr genug da war. Bitte erstatten Sie sie.
}
mail-many-underpaid = { $count ->
    [one] Eine Zahlung war niedriger als der Preis und zählt nicht als Verkauf. Bitte schicken Sie sie zurück.
   *[other] { NUMBER($count) } Zahlungen waren niedriger als der Preis und zählen nicht als Verkäufe. Bitte schicken Sie sie zurück.
}

# Sent to an address before anything else is. No word of it is the seller's.

mail-ask-subject = Bestätigen Sie Ihre E-Mail-Adresse bei { $host }
mail-ask-heading = Ist das Ihre Adresse?
mail-ask = Jemand, der über { $host } verkauft, möchte Zahlungen an diese Adresse gemeldet bekommen. Wenn Sie das sind, bestätigen Sie sie bitte innerhalb von { $days } Tagen. Wenn nicht, ignorieren Sie diese E-Mail einfach, dann kommen keine E-Mails über Zahlungen.
mail-ask-confirm = Adresse bestätigen
mail-ask-why = Sie bekommen diese E-Mail, weil jemand diese Adresse eingegeben hat.

# A payer's receipt. No message of the seller's is in it.

mail-payer-subject = Beleg für Ihre Zahlung über { $amount }
mail-payer-subject-test = Beleg für Ihre Testzahlung über { $amount }
mail-payer-subject-oversold = Ihre Zahlung über { $amount }: Ihnen steht eine Erstattung zu
mail-payer-heading = Sie haben { $amount } gezahlt
mail-payer-oversold = Ihre Zahlung kam zu spät und zählt nicht als Kauf. Der Verkäufer muss Ihnen das Geld erstatten. Nennen Sie ihm dafür die Transaktionsnummer unten.
mail-payer-test = Testmodus: Es wurde kein echtes Geld abgebucht.
mail-payer-host = Bezahlt bei
mail-payer-why = Sie bekommen diese E-Mail, weil Ihre Adresse bei { $host } für einen Beleg eingegeben wurde. Wenn Sie das nicht waren, ignorieren Sie sie einfach: Das ist keine Rechnung.
mail-payer-stop = Keine Belege mehr an diese Adresse

# To a payer whose seller hasn't found the money. No word of it is the seller's.

mail-unfound-subject = Ihre Zahlung über { $amount } wurde nicht gefunden
mail-unfound-heading = Der Verkäufer hat Ihre Zahlung über { $amount } nicht gefunden
mail-unfound = Wenn Sie das Geld überwiesen haben, nennen Sie dem Verkäufer den Verwendungszweck unten und bitten Sie ihn, noch einmal nachzusehen. Wenn nicht, müssen Sie nichts tun.
mail-unfound-open = Zahlung öffnen

# An Zahlende, über das, was sie gekauft haben: Nummern, Codes, Notiz des Verkäufers.

mail-payer-units = Nummer
mail-payer-numbers = { $numbers } von { NUMBER($total) }
mail-payer-code = Ihr Code
mail-payer-code-of = Code für Nr. { NUMBER($unit) }
mail-payer-goods = Ihr Kauf
mail-payer-there = Auf Ihrem Beleg
mail-payer-goods-wait = Kommt noch. Sie bekommen eine E-Mail, sobald alles da ist.
mail-payer-note = Notiz des Verkäufers

# Neues zu einer Zahlung, an die Zahlenden. Keine Nachricht des Verkäufers steht darin.

mail-sent-subject = Ihre Bestellung über { $amount } ist unterwegs
mail-sent-heading = Ihre Bestellung ist unterwegs
mail-paid-back-subject = Ihre Zahlung über { $amount } ist als zurückgezahlt vermerkt
mail-paid-back-heading = { $amount } als zurückgezahlt vermerkt
mail-paid-back-text = Der Verkäufer hat Ihre Zahlung als zurückgezahlt vermerkt. Bis das Geld bei Ihnen ankommt, kann es ein paar Tage dauern.
mail-codes = { $count ->
    [one] Ihr Code ist da
   *[other] Ihre Codes sind da
}
mail-goods = Ihr Kauf ist da
