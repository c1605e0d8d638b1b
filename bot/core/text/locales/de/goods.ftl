# Was man nach der Zahlung bekommt: eine Nachricht, eine Datei oder Codes; und Codes, die später dazukommen.

## Einrichten

option-goods = Was man bekommt
button-edit-goods = Was man bekommt
ask-goods =
    <b>Was bekommt man nach der Zahlung?</b>
    Schick es mir: eine Nachricht (gern mit Links), ein Foto, eine Datei bis 20 MB oder Codes, einen pro Zeile, getippt oder als .txt- oder .csv-Datei. Es steht nur auf dem Beleg, sonst sieht es niemand. Bei Codes gibt es für jedes Stück einen.

    <i>Telegrams Regel: Digitale Waren, die in Telegram verkauft werden, müssen mit Telegram-Sternen bezahlt werden, und die nehme ich nicht. Teile Zahlungslinks für Downloads und Codes also nur außerhalb von Telegram, zum Beispiel auf deiner Website. Karten für Veranstaltungen und alles, was du verschickst, kannst du überall anbieten.</i>
ask-goods-earlier =
    { $kind ->
        [codes] Wer schon einen Code hat, behält ihn; wer noch wartet, bekommt, was du jetzt schickst.
        [none] Das bekommen nur alle, die ab jetzt zahlen.
       *[other] Eine neue Nachricht oder Datei ersetzt diese auch auf den Belegen aller, die sie schon haben. Wenn du Codes schickst oder sie entfernst, behalten sie, was sie haben.
    }
ask-which-goods =
    <b>Wie soll ich das weitergeben?</b>
    { $count ->
        [one] Ich habe { $count } Zeile gefunden, die ein Code sein könnte. Ich kann ihn einmal vergeben oder allen dasselbe zeigen.
       *[other] Ich habe { $count } Zeilen gefunden, die Codes sein könnten. Ich kann pro Stück einen vergeben oder allen dasselbe zeigen.
    }
ask-long-goods =
    <b>Sind das Codes?</b>
    { $count ->
        [one] Ich habe { $count } Zeile gefunden, die ein Code sein könnte, und kann ihn einmal vergeben.
       *[other] Ich habe { $count } Zeilen gefunden, die Codes sein könnten, und kann pro Stück einen vergeben.
    } Als Nachricht an alle ist es zu lang: Möglich sind { $most } Zeichen. Wenn es ein Text ist, schick ihn als Datei oder kürze ihn.
ask-whole-goods =
    <b>Sollen alle diese Datei bekommen?</b>
    Eine Liste von Codes habe ich darin nicht gefunden. Wer bezahlt, bekäme die ganze Datei.
ask-file =
    <b>Verkaufst du diese Datei?</b>
    Du hast <code>{ $name }</code> geschickt. Wenn ja, lässt sie sich nach der Zahlung über den Beleg herunterladen. Wenn nein, gibt es nur den Beleg.

    <i>Telegrams Regel: Digitale Waren, die in Telegram verkauft werden, müssen mit Telegram-Sternen bezahlt werden. Teile Zahlungslinks für Downloads also nur außerhalb von Telegram.</i>
ask-file-album = Es ist eine von mehreren Dateien, die du zusammen geschickt hast, und ein Zahlungslink kann nur eine haben. Wenn du alle verkaufen möchtest, pack sie in eine .zip-Datei.
button-file-yes = ✅ Ja, wer zahlt, bekommt sie
button-file-no = Nein
button-file-photo = 🖼 Nein, das ist das Foto
file-later = 📎 Deine Datei habe ich. Ich frage dich danach, bevor du den Link erstellst.
file-unused = 📎 Damit kann ich hier nichts anfangen, deshalb habe ich es nicht verwendet.
file-unused-line = 📎 Dein Foto oder deine Datei habe ich nicht verwendet. Bitte schick sie mit der richtigen Zeile noch einmal.
file-unused-command = 📎 Was du mitgeschickt hast, habe ich nicht verwendet: Zu diesem Befehl gehört weder Foto noch Datei.
file-unused-service = 📎 Deine Datei habe ich nicht verwendet: Dieser Zahlungsdienst gibt keine Dateien weiter.
file-first = Ich weiß nicht recht, wofür das ist. Schick es mit einer Zeile wie <code>/oneoff 9 EUR E-Book</code> als Bildunterschrift, oder tippe zuerst auf <b>Neuer Zahlungslink</b>.
caption-unused = 📎 Das habe ich übernommen, den Text darunter nicht.
button-goods-codes = Codes, einer pro Zeile
button-goods-text = Ein Text für alle
button-goods-file = Eine Datei für alle
button-goods-again = Etwas anderes schicken
goods-fetching = ⏳ Ich hole deine Datei …
goods-late = Deine Datei kam erst an, als du schon weiter warst. Deshalb habe ich sie nicht verwendet. Wenn du sie verwenden möchtest, öffne „Was man bekommt“ und schick sie noch einmal.
goods-no-caption = Der Text dazu zählt nicht mit: Weitergegeben wird nur die Datei. Schreib ihn in das Dankeschön oder die Beschreibung.
goods-joined = Ich habe es zu dem hinzugefügt, was du davor geschickt hast. Wenn du es ersetzen möchtest, tippe erst auf „Etwas anderes schicken“.
goods-doubled =
    { $count ->
        [one] Dieser Code kam mehrmals vor, ich verwende ihn nur einmal: { $codes }
       *[other] { $count } Codes kamen mehrmals vor, ich verwende jeden nur einmal: { $codes }
    }
toast-elsewhere = Das gibt es bei dem Zahlungsdienst dieses Bots nicht.

## Prüfen und ändern

goods-brief-text = eine Nachricht
goods-file = { $name }, { $size }
goods-codes =
    { $count ->
        [one] { $count } Code
       *[other] { $count } Codes
    }
goods-codes-fits =
    { $count ->
        [one] { $count } Code für { $pieces } Stück: passt
       *[other] { $count } Codes für { $pieces } Stück: passt
    }
goods-codes-few =
    { $count ->
        [one] { $off ->
            [one] { $count } Code für { $pieces } Stück, einer fehlt noch
           *[other] { $count } Code für { $pieces } Stück, { $off } fehlen noch
        }
       *[other] { $off ->
            [one] { $count } Codes für { $pieces } Stück, einer fehlt noch
           *[other] { $count } Codes für { $pieces } Stück, { $off } fehlen noch
        }
    }
goods-codes-many =
    { $off ->
        [one] { $count } Codes für { $pieces } Stück, einer bleibt übrig
       *[other] { $count } Codes für { $pieces } Stück, { $off } bleiben übrig
    }
goods-ends = Erster Code: <code>{ $first }</code>, letzter Code: <code>{ $last }</code>
review-goods = Nach der Zahlung gibt es: { $value }
saved-goods = Nach der Zahlung gibt es jetzt: { $value }
cleared-goods = Jetzt gibt es nur noch den Beleg.
goods-awaited = ⚠ Bei <b>{ $name }</b> wird noch auf Codes gewartet, deshalb habe ich nichts entfernt. Schick dafür erst Codes, eine Nachricht oder eine Datei.
goods-service-down = Der Zahlungsdienst antwortet gerade nicht. Ich versuche weiter zu ändern, was man bei <b>{ $name }</b> bekommt, und sage dir Bescheid.
goods-not-copied = Was man bekommt, habe ich nicht kopiert: Codes und Dateien gehören zu einem einzigen Link. Unter „Mehr Angaben“ kannst du es noch einmal festlegen.

## Probleme

problem-goods-nothing = ⚠ Darin habe ich nichts gefunden. Schick eine Nachricht, eine Datei oder Codes.
problem-goods-empty = ⚠ Darin habe ich keine Codes gefunden. Schick einen pro Zeile.
problem-goods-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Kürze den Text oder schick ihn als Datei.
problem-goods-code-long = ⚠ Zeile { $line } hat { $length } Zeichen, ein Code darf höchstens { $most } haben. Steht in jeder Zeile nur einer?
problem-goods-code-control = ⚠ Zeile { $line } hat Zeichen, die sich nicht anzeigen lassen. Schick die Codes als reinen Text, einen pro Zeile.
problem-goods-many = ⚠ Das sind { $count } Codes, pro Link gehen höchstens { $most }. Schick weniger.
problem-goods-typed = ⚠ Das sind { $count } Codes, zu viele zum Tippen. Schick alle in einer .txt-Datei, einen pro Zeile.
problem-goods-csv = ⚠ Diese .csv-Datei konnte ich nicht lesen. Schick die Codes als .txt-Datei, einen pro Zeile.
problem-goods-columns = ⚠ Die Datei hat mehrere Spalten, und ich weiß nicht, in welcher die Codes stehen. Schick nur die Codes, einen pro Zeile.
problem-goods-no-text = ⚠ Diese Datei konnte ich nicht als Text lesen. Speichere sie als UTF-8, mit einem Code pro Zeile, und schick sie noch einmal.
problem-goods-no-list = ⚠ Das ist keine Liste von Codes. Schick einen pro Zeile, getippt oder als .txt- oder .csv-Datei.
problem-goods-album = ⚠ Das sind mehrere Dateien auf einmal. Schick nur eine. Wenn es mehrere sein sollen, pack sie in eine .zip-Datei.
problem-goods-too-large = ⚠ Die Datei ist größer als 20 MB, und mehr gibt mir Telegram nicht. Schick eine kleinere oder eine Nachricht mit einem Link darauf.
problem-goods-unreachable = ⚠ Ich konnte die Datei nicht holen. Bitte schick sie noch einmal.
problem-goods-full = ⚠ Für diese Datei habe ich gerade keinen Platz. Schick stattdessen eine Nachricht mit einem Link darauf.
problem-goods-refused = ⚠ Ich konnte die Datei nicht speichern. Bitte schick sie noch einmal oder nimm eine andere.

## Codes, die später dazukommen

button-send-codes = 🔑 Codes schicken
ask-codes =
    <b>Schick mir weitere Codes.</b>
    Einen pro Zeile, getippt oder, wenn sie nicht in eine Nachricht passen, als .txt- oder .csv-Datei. Wer schon wartet, bekommt seinen sofort.
codes-adding =
    { $count ->
        [one] ⏳ Ich füge { $count } Code hinzu …
       *[other] ⏳ Ich füge { $count } Codes hinzu …
    }
codes-added =
    { $count ->
        [one] ✅ <b>{ $name }</b>: { $count } Code hinzugefügt.
       *[other] ✅ <b>{ $name }</b>: { $count } Codes hinzugefügt.
    }
codes-known = <b>{ $name }</b> hatte alle diese Codes schon, deshalb kam keiner dazu.
codes-stored = ✅ <b>{ $name }</b>: Deine Codes sind gespeichert.
codes-enough = Alle, die gezahlt haben, haben ihren Code.
codes-still-waiting =
    { $count ->
        [one] { $count } Person wartet noch auf einen Code.
       *[other] Es fehlen noch { $count } Codes.
    }
codes-left = Codes übrig: { $left } von { $total }
codes-waiting =
    { $count ->
        [one] { $count } Person wartet auf einen Code
       *[other] Es fehlen { $count } Codes
    }
codes-service-down = Der Zahlungsdienst antwortet gerade nicht. Ich versuche weiter, deine Codes zu <b>{ $name }</b> hinzuzufügen, und sage dir Bescheid.
codes-given-up = ⚠ Ich konnte deine Codes nicht zu <b>{ $name }</b> hinzufügen. Bitte schick sie noch einmal: Codes, die schon da sind, füge ich nicht noch einmal hinzu.
toast-no-codes = Zu diesem Link gibt es keine Codes.
