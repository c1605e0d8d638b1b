# Das Profil: was Zahlende von dem Menschen sehen, dem sie etwas zahlen.

## Einmal gefragt, nach dem ersten Link

profile-offer = Ein Name schafft Vertrauen. Soll auf deinen Links <b>{ $name }</b> stehen?
profile-offer-unnamed = Ein Name schafft Vertrauen. Soll auf deinen Links stehen, von wem sie kommen?
button-profile-use = „{ $value }“ verwenden
button-profile-own = Profil einrichten
button-profile-later = Jetzt nicht
profile-used =
    ✅ Fertig. Auf deinen Links steht jetzt <b>{ $name }</b>.
    Bild, Kontakt und mehr kannst du jederzeit ergänzen.
profile-declined = Kein Problem. Dein Profil findest du jederzeit unter /settings.

## Das Profil selbst

button-profile = 👤 Profil
settings-profile = Zahlende sehen dich als <b>{ $name }</b>.
profile =
    <b>Dein Profil</b>
    Das sehen Zahlende:
profile-hidden =
    <b>Dein Profil</b>
    Mit einem Namen sehen Zahlende auch das:
profile-none =
    <b>Dein Profil</b>
    Noch sieht niemand, wem er das Geld schickt. Gib einen Namen an, dann steht er auf deinen Links.
profile-contact = Kontakt: { $contact }
profile-accent = Farbe: { $colour }
profile-picture = Bild vorhanden ✓
profile-present = Bisher: { $value }
profile-saved = ✅ Gespeichert.
profile-removed = ✅ Entfernt.
button-sellername = Name
button-sellerimage = Bild
button-sellerabout = Über dich
button-sellercontact = Kontakt
button-selleraccent = Farbe
button-profile-see = Ansehen
button-profile-photo = Mein Telegram-Foto verwenden
toast-profile-photo = Ich hole dein Foto …

accent-blue = Blau
accent-teal = Petrol
accent-green = Grün
accent-orange = Orange
accent-red = Rot
accent-pink = Pink
accent-purple = Lila
accent-grey = Grau

## Seine Fragen, und was an einer Antwort nicht stimmt

ask-sellername =
    <b>Welchen Namen sollen Zahlende sehen?</b>
    Deinen eigenen, den deines Ladens oder deines Projekts.
ask-sellerimage =
    <b>Schick mir ein Bild von dir oder dein Logo.</b>
    Ich schneide es quadratisch zu.
ask-sellerabout =
    <b>Stell dich in einer Zeile vor.</b>
    Zum Beispiel: <i>Sauerteig und Kaffee, gebacken in Leipzig</i>
ask-sellercontact =
    <b>Wie erreicht man dich?</b>
    Schreib einen Benutzernamen wie <code>@anna_bakes</code>, eine E-Mail-Adresse oder einen Link. Wer deine Links öffnet, kann ihn sehen.
ask-selleraccent =
    <b>Such dir eine Farbe aus.</b>
    Sie prägt deine Zahlungsseiten und Bilder.
problem-sellername-empty = ⚠ Das könnte niemand lesen. Schreib einen Namen, zum Beispiel <i>Annas Backstube</i>.
problem-sellername-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze den Namen.
problem-sellerabout-empty = ⚠ Darin finde ich keine Wörter. Schreib eine kurze Zeile über dich.
problem-sellerabout-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze den Text.
problem-sellercontact = ⚠ Das sieht nicht nach einem Kontakt aus. Schreib etwa <code>@anna_bakes</code>, <code>anna@example.org</code> oder <code>example.org/anna</code>.
problem-sellerimage = ⚠ Das ist kein Bild. Schick mir ein Foto oder tippe unten auf einen Knopf.
photo-noProfile = ⚠ Ich sehe dein Telegram-Foto nicht: Du hast keines, oder deine Privatsphäre-Einstellungen verbergen es vor Bots. Schick mir stattdessen ein Bild.

## Wo Zahlende es lesen

review-seller =
    { $kind ->
        [donation] Von: <b>{ $value }</b>
       *[other] Verkauft von: <b>{ $value }</b>
    }
card-seller =
    { $kind ->
        [donation] Für { $name }
       *[other] Verkauft von { $name }
    }
