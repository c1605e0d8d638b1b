# The operator, where OPERATOR_CONTACT is not set: follows “contact”.

operator = whoever runs this bot
