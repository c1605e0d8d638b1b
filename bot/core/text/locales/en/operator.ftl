# The operator, where OPERATOR_CONTACT is not set: follows “write to”.

operator = whoever runs this bot
