# What a seller does with a request: edit it, print its poster, look up its payments.

command-alerts = Zahlungen, die ich dir nicht melden konnte

## What can be changed

button-edit-name = Name
button-edit-description = Beschreibung
button-edit-picture = Foto
button-edit-redirect = Nach der Zahlung
button-edit-email = E-Mail-Meldungen
button-edit-end = Ende
button-edit-units = Weniger Stück
button-edit-postertext = Plakattext
button-edit-not = Preis, Empfänger, Art …
button-duplicate = 📑 Duplizieren
edit-not =
    <b>Was du an „{ $name }“ nicht ändern kannst</b>
    Art, Preis, Währungen, Empfänger, Beginn und was die Zahlenden gefragt werden. Dein Link ist schon im Umlauf, und wer ihn öffnet, soll finden, was versprochen wurde. Deshalb lässt der Zahlungsdienst das niemanden ändern.

    Dupliziere ihn stattdessen: Alles ist ausgefüllt, du änderst, was du möchtest, und die Kopie bekommt einen eigenen Link. Pausiere oder lösche diesen hier, wenn ihn niemand mehr braucht.

## What was changed

saved = ✅ Gespeichert: <b>{ $name }</b>
saved-name = Name geändert: { $value }
saved-description = Beschreibung geändert: { $value }
saved-picture = Foto geändert.
saved-redirect = Nach der Zahlung geht es jetzt weiter zu: { $value }
saved-email = E-Mails zu Zahlungen gehen jetzt an: { $value }
saved-end = Ende geändert: { $value }
saved-units =
    { $value ->
        [one] { $value } Stück ist herausgenommen und wird nicht mehr verkauft.
       *[other] { $value } Stück sind herausgenommen und werden nicht mehr verkauft.
    }
saved-postertext = Plakattext geändert: { $value }
cleared-description = Beschreibung entfernt.
cleared-picture = Foto entfernt.
cleared-redirect = Webadresse entfernt. Nach der Zahlung ist der Beleg zu sehen.
cleared-email = E-Mails zu Zahlungen ausgeschaltet.
cleared-end = Ende entfernt.
cleared-postertext = Plakattext entfernt.
edit-unchanged = Der Zahlungsdienst hat nicht rechtzeitig geantwortet. Ich habe nachgesehen: <b>{ $name }</b> hat sich nicht geändert. Bitte versuch es in einer Minute noch einmal.

## Units

toast-no-units = Eine Stückzahl gibt es nur bei einer limitierten Auflage.
toast-none-left = Es ist nichts mehr übrig, was du herausnehmen könntest.
units-too-many =
    { $left ->
        [one] ⚠ Von <b>{ $name }</b> ist nur noch { $left } Stück übrig, so viele lassen sich nicht herausnehmen. Tippe auf „Bearbeiten“, um weniger herauszunehmen.
       *[other] ⚠ Von <b>{ $name }</b> sind nur noch { $left } Stück übrig, so viele lassen sich nicht herausnehmen. Tippe auf „Bearbeiten“, um weniger herauszunehmen.
    }
units-all = ⚠ Du kannst nicht alle Stücke von <b>{ $name }</b> herausnehmen. Pausiere oder lösche den Zahlungslink stattdessen.
units-doubted = Der Zahlungsdienst hat nicht geantwortet, deshalb weiß ich noch nicht, ob die Stücke von <b>{ $name }</b> herausgenommen wurden. Ich finde es heraus und sage dir Bescheid; bitte nimm sie bis dahin nicht noch einmal heraus.
units-unknown = ⚠ Ob die Stücke von <b>{ $name }</b> herausgenommen wurden, konnte ich nicht herausfinden. Die Karte zeigt, wie viele übrig sind. Sind es zu viele, nimm sie noch einmal heraus.

## Deleting

delete-reserved =
    { $reserved ->
        [one] ⚠ Gerade läuft { $reserved } Zahlung. Kommt dieses Geld noch an, erfährst du davon, aber wer zahlt, findet hier vielleicht nichts mehr.
       *[other] ⚠ Gerade laufen { $reserved } Zahlungen. Kommt dieses Geld noch an, erfährst du davon, aber wer zahlt, findet hier vielleicht nichts mehr.
    }

## The poster

poster =
    🖨 <b>Plakat für „{ $name }“</b>
    Mit Name, Preis und QR-Code, zum Drucken oder für Stories. Zum Drucken gibt es ein Bild und ein PDF.
poster-link = Zahlungslink: { $link }
poster-deep-link = In Telegram: { $link }
poster-text = Dein Text: <i>{ $value }</i>
button-print-light = 🖨 Druck, hell
button-print-dark = 🖨 Druck, dunkel
button-square-light = 📱 Quadrat, hell
button-square-dark = 📱 Quadrat, dunkel
button-poster-text-add = ✏ Text hinzufügen
button-poster-text-change = ✏ Text ändern
poster-refused = ⚠ Telegram hat das Plakat für <b>{ $name }</b> nicht angenommen. Versuch es in ein paar Minuten noch einmal.
button-poster-again = 🔁 Noch einmal
toast-poster = Dein Plakat ist unterwegs.
toast-poster-coming = Dein Plakat ist schon unterwegs.

## The payments of a request

payments =
    <b>Zahlungen für { $name }</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(Seite { $page } von { $pages })
    }
payments-total =
    { $count ->
        [one] Gesamt: <b>{ $total }</b> aus { $count } Zahlung
       *[other] Gesamt: <b>{ $total }</b> aus { $count } Zahlungen
    }
payments-zone = <i>Zeiten: { $zone }</i>
payments-line = { $at } · <b>{ $amount }</b>
payments-oversold = ⚠️ Überverkauft: bitte erstatten
payments-found = 🔎 Nachträglich gefunden
payments-in-doubt = 🔎 Vielleicht schon gemeldet
